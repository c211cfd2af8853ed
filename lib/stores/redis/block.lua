-- Blocks a counter's subject from now on.
--
-- KEYS  the block's key, and the counter's; without that one, nothing is announced
-- ARGV  see protocol.lua, without rules; the arguments are duration (microseconds)
-- Returns  1
--
-- @needs protocol, announce

local function block(...)
  begin_call(...)
  local block_key, key, duration = keys[1], keys[2], arguments[1]
  take_memory()
  redis.call('SET', block_key, string.format(INTEGER, now + duration), 'PX', milliseconds(duration))
  if key then announce(key) end
  return 1
end
