-- Adds `limit` tokens per window: one by one and evenly (interval 0), or all at once after each whole window (interval
-- 1). Tokens are credited up to an instant (microseconds, part).
--
-- @needs rate

-- Returns: how many whole tokens are added within a span; 0 for a negative span.
local function tokens_in(span, part, limit, window, interval)
  if interval == 0 then return permits_in(span, part, limit, window) end
  return math.max(0, math.floor(span / window)) * limit
end

-- Returns: the span in which `tokens` are added (microseconds, part).
local function span_for(tokens, limit, window, interval)
  if interval == 0 then return span_of(tokens, limit, window) end
  return math.min(LONGEST, math.ceil(tokens / limit) * window), 0
end

-- Returns: the instant at which `missing` more tokens have been added.
local function instant_of(missing, instant, part, limit, window, interval)
  if missing <= 0 then return instant end
  local whole, fine = span_for(missing, limit, window, interval)
  return instant + whole + math.ceil((part + fine) / limit)
end

-- Credits the tokens added up to now.
-- Returns: how many are still missing, and up to when tokens are credited (microseconds, part).
local function credit_up_to(now, missing, instant, part, limit, window, interval)
  local elapsed, elapsed_part = now - instant, -part
  if elapsed_part < 0 then elapsed, elapsed_part = elapsed - 1, elapsed_part + limit end
  local earned = tokens_in(elapsed, elapsed_part, limit, window, interval)
  if earned >= missing then return 0, math.max(instant, now), 0 end
  local credited, credited_part = span_for(earned, limit, window, interval)
  instant, part = instant + credited, part + credited_part
  if part >= limit then instant, part = instant + 1, part - limit end
  return missing - earned, instant, part
end

-- Refunds tokens, at most those that are added within `time` (microseconds, rounded up). With continuous refill the
-- maximum is exact, since a fraction of a token is refunded as time.
-- Returns: how many tokens are still missing, and up to when tokens are credited (microseconds, part).
local function refund_tokens(tokens, time, now, missing, instant, part, limit, window, interval)
  if interval == 1 then return missing - math.min(tokens, math.ceil(time / window) * limit), instant, part end
  local left = window % limit == 0 and time or time - 1
  local whole, fine = span_for(tokens, limit, window, interval)
  if whole < left or (whole == left and fine == 0) then return missing - tokens, instant, part end
  return credit_up_to(now, missing, instant - left, part, limit, window, interval)
end
