-- Notes that a process is alive, and counts those that are. What protocol.lua reads stands above.
--
-- KEYS  a sorted set: each process by the instant until which its heartbeat counts
-- ARGV  see protocol.lua, without rules; the arguments are instance (a name), duration (microseconds; 0: it is gone)
-- Returns  how many processes are alive; text if they cannot be counted: why
--
-- An error is returned as text, since it says nothing of whether requests can be decided: the rights to
-- decide them may be there while those for a sorted set are not.

local key, instance, duration = KEYS[1], arguments[1], arguments[2]
local failure

local function run(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then failure = failure or reply.err end
  return reply
end

run('ZREMRANGEBYSCORE', key, '-inf', string.format(INTEGER, now))
if duration > 0 then
  run('ZADD', key, string.format(INTEGER, now + duration), instance)
  run('PEXPIRE', key, milliseconds(duration))
else
  run('ZREM', key, instance)
end
local alive = run('ZCARD', key)
return failure or alive
