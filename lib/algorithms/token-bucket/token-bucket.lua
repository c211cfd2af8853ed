-- Token bucket: holds up to `burst` tokens, takes `cost` of them a hit, and gains `limit` tokens
-- a window, continuously.
--
-- KEYS  the rule's key: a string, `tokens instant part` (whole tokens, below 0 when there is debt, and
--       the instant up to which they have been credited: microseconds; part in 1/limit of one)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after

-- Returns: the bucket as it is now (tokens, instant, part).
local function fill(key, now, limit, window, burst)
  local stored = redis.call('GET', key)
  if not stored then return burst, now, 0 end
  local tokens, instant, part = string.match(stored, '^(-?%d+) (%d+) (%d+)$')
  if not tokens then return burst, now, 0 end
  tokens, instant, part = tonumber(tokens), tonumber(instant), math.min(tonumber(part), limit - 1)

  local elapsed, elapsed_part = now - instant, -part
  if elapsed_part < 0 then elapsed, elapsed_part = elapsed - 1, elapsed_part + limit end
  local earned = permits_in(elapsed, elapsed_part, limit, window)
  if tokens + earned >= burst then return burst, math.max(instant, now), 0 end
  local credited, credited_part = span_of(earned, limit, window)
  instant, part = instant + credited, part + credited_part
  if part >= limit then instant, part = instant + 1, part - limit end
  return tokens + earned, instant, part
end

-- Returns: how long until `missing` more tokens have come.
local function wait_for(missing, now, instant, part, limit, window)
  if missing <= 0 then return 0 end
  local whole, fine = span_of(missing, limit, window)
  return instant - now + whole + math.ceil((part + fine) / limit)
end

local function write(tokens, instant, part)
  return string.format('%.0f %.0f %.0f', tokens, instant, part)
end

local function step(key, now, cost, patience, _, limit, window, burst)
  if limit == 0 then return false, 0, -1, 0 end

  local tokens, instant, part = fill(key, now, limit, window, burst)
  local wait = 0
  if cost > math.max(0, tokens) then
    wait = wait_for(cost - tokens, now, instant, part, limit, window)
    if patience < math.huge and (cost > burst or wait > patience) then
      if cost > burst then wait = -1 end
      return false, math.max(0, tokens), wait, wait_for(burst - tokens, now, instant, part, limit, window)
    end
  end

  tokens = tokens - cost
  local reset_after = wait_for(burst - tokens, now, instant, part, limit, window)
  return true, math.max(0, tokens), wait, reset_after, write(tokens, instant, part), reset_after
end

-- A charge is gone once the bucket could have been full again since, however much was taken later.
local function refund(key, now, cost, receipt, only_last, limit, window, burst)
  if limit == 0 then return nil end
  local tokens, instant, part = fill(key, now, limit, window, burst)
  local ends_at = now + wait_for(burst - tokens, now, instant, part, limit, window)
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  tokens = tokens + cost
  if tokens >= burst then tokens, instant, part = burst, math.max(instant, now), 0 end
  return write(tokens, instant, part), wait_for(burst - tokens, now, instant, part, limit, window)
end

return { step = step, refund = refund }
