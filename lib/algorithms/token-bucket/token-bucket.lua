-- Token bucket: holds up to `burst` tokens, takes `cost` of them a hit, and gains `limit` tokens
-- a window, continuously.
--
-- KEYS  the rule's key: a string, `tokens instant part` (whole tokens, and the instant up to which
--       they have been credited: microseconds; part in 1/limit of one)
-- ARGV  now (microseconds), cost (permits), limit (permits), window (microseconds), burst (permits)
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after

local function step(key, now, cost, limit, window, burst)
  if limit == 0 then return false, 0, -1, 0 end

  local tokens, instant, part = burst, now, 0
  local stored = redis.call('GET', key)
  if stored then
    local s_tokens, s_instant, s_part = string.match(stored, '^(%d+) (%d+) (%d+)$')
    if s_tokens then
      tokens, instant = tonumber(s_tokens), tonumber(s_instant)
      part = math.min(tonumber(s_part), limit - 1)
    end
  end

  local elapsed, elapsed_part = now - instant, -part
  if elapsed_part < 0 then elapsed, elapsed_part = elapsed - 1, elapsed_part + limit end
  local earned = permits_in(elapsed, elapsed_part, limit, window)
  if tokens + earned >= burst then
    tokens, instant, part = burst, math.max(instant, now), 0
  elseif earned > 0 then
    local credited, credited_part = span_of(earned, limit, window)
    tokens, instant, part = tokens + earned, instant + credited, part + credited_part
    if part >= limit then instant, part = instant + 1, part - limit end
  end

  local allowed = cost <= tokens
  if allowed then tokens = tokens - cost end
  local full, full_part = span_of(burst - tokens, limit, window)
  local reset_after = instant - now + full + math.ceil((part + full_part) / limit)
  if tokens == burst then reset_after = 0 end

  if not allowed then
    local wait, wait_part = span_of(cost - tokens, limit, window)
    local retry_after = instant - now + wait + math.ceil((part + wait_part) / limit)
    if cost > burst then retry_after = -1 end
    return false, tokens, retry_after, reset_after
  end

  local state = string.format('%.0f %.0f %.0f', tokens, instant, part)
  return true, tokens, 0, reset_after, state, reset_after
end

return { step = step }
