-- Notes that a process is alive, and counts those that are. What protocol.lua reads stands above.
--
-- KEYS  a sorted set: each process by the instant until which its sign of life counts
-- ARGV  see protocol.lua, without rules; the arguments are instance (a name), duration (microseconds; 0: it is gone)
-- Returns  how many processes are alive

local key, instance, duration = KEYS[1], arguments[1], arguments[2]

redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format(INTEGER, now))
if duration > 0 then
  redis.call('ZADD', key, string.format(INTEGER, now + duration), instance)
  redis.call('PEXPIRE', key, milliseconds(duration))
else
  redis.call('ZREM', key, instance)
end
return redis.call('ZCARD', key)
