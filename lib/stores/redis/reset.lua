-- Forgets a counter.
--
-- KEYS  the counter's key, and its block's if its rule can block
-- ARGV  see protocol.lua, without rules and arguments
-- Returns  how many of the keys there were
--
-- @needs announce

local removed = redis.call('UNLINK', unpack(KEYS))
announce(KEYS[1], true)
return removed
