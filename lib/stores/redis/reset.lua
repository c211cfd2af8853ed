-- Forgets a counter, and notes when: a charge from before must not be refunded. The note is kept for as long as the
-- counter would have been, since no charge lasts longer.
--
-- KEYS  where the instant of the counter's last reset is kept (microseconds), the counter's key, and its block's if
--       its rule can block; or any keys, which are deleted
-- ARGV  see protocol.lua, without rules; the arguments are 1 for a counter
-- Returns  how many of the keys there were
--
-- @needs protocol, announce

local function reset(...)
  begin_call(...)
  if not arguments[1] then return redis.call('UNLINK', unpack(keys)) end

  local reset_key, key = keys[1], keys[2]
  local kept_for = redis.call('PTTL', key)
  if kept_for > 0 then kept_for = math.max(kept_for, redis.call('PTTL', reset_key)) end
  -- First what frees memory: a server that is out of it takes a write behind that one.
  local removed = redis.call('UNLINK', unpack(keys, 2))
  if kept_for > 0 then
    redis.call('SET', reset_key, string.format(INTEGER, now), 'PX', string.format(INTEGER, kept_for))
  end
  announce(key, true)
  return removed
end
