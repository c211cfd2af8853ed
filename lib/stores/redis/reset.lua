-- Deletes a counter and stores the instant, since earlier charges must not be refunded. The instant is stored as long as
-- the counter would have existed, since no charge lasts longer.
--
-- KEYS  the key of the instant of the counter's last reset (microseconds), the key of the counter, and that of its block
--       if its rule can block; or any keys, which are deleted
-- ARGV  see protocol.lua, without rules; the arguments are 1 for a counter
-- Returns  how many of the keys existed
--
-- @needs protocol, announce

local function reset(...)
  begin_call(...)
  if not arguments[1] then return redis.call('UNLINK', unpack(keys)) end

  local reset_key, key = keys[1], keys[2]
  local kept_for = redis.call('PTTL', key)
  if kept_for > 0 then kept_for = math.max(kept_for, redis.call('PTTL', reset_key)) end
  -- Frees memory first: a server that is out of memory accepts a write only after that.
  local removed = redis.call('UNLINK', unpack(keys, 2))
  if kept_for > 0 then
    redis.call('SET', reset_key, string.format(INTEGER, now), 'PX', string.format(INTEGER, kept_for))
  end
  announce(key, true)
  return removed
end
