-- Blocks the subject of a counter, from now on.
--
-- KEYS  the key of the block (see call.lua), and that of the counter; without the latter, nothing is announced
-- ARGV  see protocol.lua, without rules; the arguments are duration (microseconds)
-- Returns  1
--
-- @needs protocol, announce

local function block(...)
  begin_call(...)
  local block_key, key, duration = keys[1], keys[2], arguments[1]
  take_memory()
  read_state(block_key, duration, pcall(redis.call, 'GET', block_key)) -- A value of another type is not overwritten.
  redis.call('SET', block_key, block_text(duration), 'PX', milliseconds(duration))
  if key then announce(key) end
  return 1
end
