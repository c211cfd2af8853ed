-- Blocks a counter's subject from now on.
--
-- KEYS  the block's key, and the counter's; without that one, nothing is announced
-- ARGV  see protocol.lua, without rules; the arguments are duration (microseconds)
-- Returns  1
--
-- @needs prologue, protocol, announce

local block_key, key, duration = KEYS[1], KEYS[2], arguments[1]

redis.call('SET', block_key, string.format(INTEGER, now + duration), 'PX', milliseconds(duration))
if key then announce(key) end
return 1
