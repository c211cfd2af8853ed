-- Records that a process is alive, and counts the live processes.
--
-- KEYS  a sorted set: each process ("<instance> <application>"), scored with the instant until which its heartbeat is valid
-- ARGV  see protocol.lua, without rules; the arguments are process (as in the set), duration (microseconds; 0: deletes it),
--       how long the set is kept after the last heartbeat (microseconds)
-- Returns  a list of the number of live processes, now, the score that this process had (0: none), and a list of the
--          applications of the processes; if they cannot be counted, a list with the error
--
-- The error is returned in a list, since it does not mean that requests cannot be decided: the user may have the rights
-- to decide, but not those for a sorted set.
--
-- @needs protocol

-- Maximum number of heartbeats that a call removes. None of them is counted, and later calls remove the others.
local MOST_GONE = 1000

-- Names are read of so many processes from each end: the next call finds others, since each heartbeat moves to the last end.
local MOST_NAMED = 50

-- For how long heartbeats stay in the set that have expired, or that are from before the clock was set back (microseconds).
-- A process whose clock has stepped by some hours must not remove those of others, which would look like lost data.
local GONE_AFTER = 24 * 3600 * 1000000

-- No heartbeat is valid for longer (microseconds).
local LONGEST_BEAT = 60000000

-- Returns: the different applications of processes.
local function applications_of(processes)
  local is_known, names = {}, {}
  for _, process in ipairs(processes) do
    local name = string.match(process, ' (.+)$')
    if name and not is_known[name] then names[#names + 1] = name end
    if name then is_known[name] = true end
  end
  return names
end

local function heartbeat(...)
  begin_call(...)
  local key, process, duration, kept = keys[1], arguments[1], arguments[2], arguments[3]
  local failure

  local function run(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then failure = failure or reply.err end
    return reply
  end

  local before = run('ZSCORE', key, process)
  if duration > 0 then
    run('ZADD', key, string.format(INTEGER, now + duration), process)
    run('PEXPIRE', key, milliseconds(duration + kept))
  else
    run('ZREM', key, process)
  end
  -- Those from before the clock was set back do not count: a live process sends another one soon.
  local first, last = '(' .. string.format(INTEGER, now), string.format(INTEGER, now + LONGEST_BEAT)
  local alive = run('ZCOUNT', key, first, last)
  local ahead = run('ZCOUNT', key, string.format(INTEGER, now + GONE_AFTER), '+inf')
  local gone = run('ZCOUNT', key, '-inf', string.format(INTEGER, now - GONE_AFTER))
  if failure then return { failure } end
  if ahead > 0 then run('ZREMRANGEBYRANK', key, -math.min(ahead, MOST_GONE), -1) end
  if gone > 0 then run('ZREMRANGEBYRANK', key, 0, math.min(gone, MOST_GONE) - 1) end
  local some = run('ZRANGE', key, first, last, 'BYSCORE', 'LIMIT', 0, MOST_NAMED)
  local others = run('ZRANGE', key, last, first, 'BYSCORE', 'REV', 'LIMIT', 0, MOST_NAMED)
  if failure then return { failure } end
  for _, other in ipairs(others) do some[#some + 1] = other end
  return { alive, now, tonumber(before) or 0, applications_of(some) }
end
