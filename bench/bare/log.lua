-- A sliding window log without anything else: a list with the instant of every allowed request (microseconds since the
-- epoch), oldest first.
--
-- KEYS  the key
-- ARGV  limit (permits), window (microseconds)
-- Returns  allowed (1 or 0), remaining (permits), wait (microseconds), reset (microseconds)

local function decide(key, limit, window, now)
  local held = redis.call('LLEN', key)
  local oldest = held > 0 and tonumber(redis.call('LINDEX', key, 0))
  while oldest and oldest <= now - window do
    redis.call('LPOP', key)
    held = held - 1
    oldest = held > 0 and tonumber(redis.call('LINDEX', key, 0))
  end
  if held >= limit then
    return 0, 0, oldest + window - now, tonumber(redis.call('LINDEX', key, -1)) + window - now
  end
  redis.call('RPUSH', key, string.format('%d', now))
  redis.call('PEXPIRE', key, string.format('%d', math.ceil(window / 1000) + 1))
  return 1, limit - held - 1, 0, window
end
