-- Notes that a process is alive, and counts those that are.
--
-- KEYS  a sorted set: each process by the instant until which its heartbeat counts
-- ARGV  see protocol.lua, without rules; the arguments are instance (a name), duration (microseconds; 0: it is gone)
-- Returns  how many processes are alive; a list of one text if they cannot be counted: why
--
-- An error is returned in a list, since it says nothing of whether requests can be decided: the rights to
-- decide them may be there while those for a sorted set are not.
--
-- @needs protocol

-- How many expired heartbeats go with a call: no call moves more. Those that stay behind are not counted, and go
-- with the calls to come.
local MOST_GONE = 1000

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
  local all, gone = run('ZCARD', key), run('ZCOUNT', key, '-inf', string.format(INTEGER, now))
  if failure then return { failure } end
  if gone > 0 then run('ZREMRANGEBYRANK', key, 0, math.min(gone, MOST_GONE) - 1) end
  return failure and { failure } or all - gone
end
