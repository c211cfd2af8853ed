-- Records that a process is alive, and counts the live processes.
--
-- KEYS  a sorted set: each process, scored with the instant until which its heartbeat is valid
-- ARGV  see protocol.lua, without rules; the arguments are instance (a name), duration (microseconds; 0: deletes it)
-- Returns  a list of the number of live processes, and now; if they cannot be counted, a list with the error
--
-- The error is returned in a list, since it does not mean that requests cannot be decided: the user may have the rights
-- to decide, but not those for a sorted set.
--
-- @needs protocol

-- Maximum number of expired heartbeats that a call removes. The others are not counted, and later calls remove them.
local MOST_GONE = 1000

-- No heartbeat is valid for longer (microseconds).
local LONGEST_BEAT = 60000000

local function heartbeat(...)
  begin_call(...)
  local key, instance, duration = keys[1], arguments[1], arguments[2]
  local failure

  local function run(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then failure = failure or reply.err end
    return reply
  end

  if duration > 0 then
    run('ZADD', key, string.format(INTEGER, now + duration), instance)
    run('PEXPIRE', key, milliseconds(duration))
  else
    run('ZREM', key, instance)
  end
  -- Those from before the clock was set back do not count: a live process sends another one soon.
  local ahead = run('ZCOUNT', key, '(' .. string.format(INTEGER, now + LONGEST_BEAT), '+inf')
  local all, gone = run('ZCARD', key), run('ZCOUNT', key, '-inf', string.format(INTEGER, now))
  if failure then return { failure } end
  if ahead > 0 then run('ZREMRANGEBYRANK', key, -math.min(ahead, MOST_GONE), -1) end
  if gone > 0 then run('ZREMRANGEBYRANK', key, 0, math.min(gone, MOST_GONE) - 1) end
  return failure and { failure } or { all - gone - ahead, now }
end
