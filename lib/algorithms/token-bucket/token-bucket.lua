-- Token bucket: holds up to `burst` tokens, takes `cost` of them a hit, and gains `limit` tokens
-- a window, continuously or all at once after each whole window.
--
-- KEYS  the rule's key: a string, `tokens instant part` (whole tokens, below 0 when there is debt, and
--       the instant up to which they have been credited: microseconds; part in 1/limit of one)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), interval (1: tokens come after each
--       whole window; 0: one by one), initial (tokens of a new bucket)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after
-- Needs  rate.lua, refill.lua

-- How long a full bucket is remembered, where a new one would not be full (microseconds).
local MEMORY = 86400000000

-- Returns: the bucket as it is now (tokens, instant, part); nil if it is a new one.
local function fill(key, now, limit, window, burst, interval, initial)
  local stored = get(key)
  local tokens, instant, part = string.match(stored or '', '^(-?%d+) (%d+) (%d+)$')
  if not tokens then return nil end
  tokens, instant, part = tonumber(tokens), tonumber(instant), math.min(tonumber(part), limit - 1)
  if initial < burst and now >= instant_of(burst - tokens, instant, part, limit, window, interval) + MEMORY then
    return nil
  end

  local elapsed, elapsed_part = now - instant, -part
  if elapsed_part < 0 then elapsed, elapsed_part = elapsed - 1, elapsed_part + limit end
  local earned = tokens_in(elapsed, elapsed_part, limit, window, interval)
  if tokens + earned >= burst then return burst, math.max(instant, now), 0 end
  local credited, credited_part = span_for(earned, limit, window, interval)
  instant, part = instant + credited, part + credited_part
  if part >= limit then instant, part = instant + 1, part - limit end
  return tokens + earned, instant, part
end

-- Returns: when the bucket may be forgotten.
local function expiry_of(tokens, now, instant, part, limit, window, burst, interval, initial)
  if initial == burst then return wait_for(burst - tokens, now, instant, part, limit, window, interval) end
  return instant_of(burst - tokens, instant, part, limit, window, interval) + MEMORY - now
end

local function write(tokens, instant, part)
  return string.format(THREE_INTEGERS, tokens, instant, part)
end

local function step(key, now, cost, patience, _, limit, window, burst, interval, initial)
  if limit == 0 then return false, 0, -1, 0 end

  local tokens, instant, part = fill(key, now, limit, window, burst, interval, initial)
  local is_new = not tokens
  if is_new then tokens, instant, part = initial, now, 0 end
  local wait = 0
  if cost > math.max(0, tokens) then
    wait = wait_for(cost - tokens, now, instant, part, limit, window, interval)
    if patience < math.huge and (cost > burst or wait > patience) then
      -- A denial stores nothing, so that a new bucket stays as it is.
      wait = (cost > burst or is_new) and -1 or wait - patience
      local reset_after = wait_for(burst - tokens, now, instant, part, limit, window, interval)
      return false, math.max(0, tokens), wait, reset_after
    end
  end

  tokens = tokens - cost
  local reset_after = wait_for(burst - tokens, now, instant, part, limit, window, interval)
  local expires_after = expiry_of(tokens, now, instant, part, limit, window, burst, interval, initial)
  return true, math.max(0, tokens), wait, reset_after, write(tokens, instant, part), expires_after
end

-- A charge wears off as the bucket fills: where others have come since, no more than what can be left
-- of it is given back.
local function refund(key, now, cost, receipt, only_last, limit, window, burst, interval, initial)
  if limit == 0 then return nil end
  local tokens, instant, part = fill(key, now, limit, window, burst, interval, initial)
  if not tokens then return nil end
  local ends_at = now + wait_for(burst - tokens, now, instant, part, limit, window, interval)
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  if ends_at ~= receipt then cost = math.min(cost, most_in(receipt - now, limit, window, interval)) end
  tokens = tokens + cost
  if tokens >= burst then tokens, instant, part = burst, math.max(instant, now), 0 end
  return write(tokens, instant, part),
    expiry_of(tokens, now, instant, part, limit, window, burst, interval, initial)
end

return { step = step, refund = refund }
