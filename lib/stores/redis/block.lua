-- Blocks a counter's subject from now on. What protocol.lua reads stands above.
--
-- KEYS  the block's key
-- ARGV  clock and no rules, see protocol.lua; then duration (microseconds)
-- Returns  1

local duration = next_number()
redis.call('SET', next_key(), string.format('%.0f', now + duration), 'PX', milliseconds(duration))
return 1
