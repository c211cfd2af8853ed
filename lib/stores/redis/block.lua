-- Blocks the subject of a counter, from now on, or ends its block.
--
-- KEYS  the key of the block (see call.lua), and that of the counter; without the latter, nothing is announced
-- ARGV  see protocol.lua, without rules; the arguments are duration (microseconds; 0 ends the block)
-- Returns  1 if the subject was blocked before, else 0
--
-- @needs protocol, announce

local function block(...)
  begin_call(...)
  local block_key, key, duration = keys[1], keys[2], arguments[1]
  local was_blocked
  if duration == 0 then
    was_blocked = redis.call('UNLINK', block_key) == 1
  else
    take_memory()
    -- A value of another type is not overwritten.
    was_blocked = read_state(block_key, duration, pcall(redis.call, 'GET', block_key))
    redis.call('SET', block_key, block_text(duration), 'PX', milliseconds(duration))
  end
  if key then announce(key) end
  return was_blocked and 1 or 0
end
