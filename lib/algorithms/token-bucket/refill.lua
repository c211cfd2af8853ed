-- How tokens come: `limit` of them a window, one by one at an even pace, or all at once after each
-- whole window (interval: 1). They are credited up to an instant (microseconds, part).
--
-- @needs rate

-- Returns: how many whole tokens come within a span; 0 for a negative one.
local function tokens_in(span, part, limit, window, interval)
  if interval == 0 then return permits_in(span, part, limit, window) end
  return math.max(0, math.floor(span / window)) * limit
end

-- Returns: the span in which `tokens` come (microseconds, part).
local function span_for(tokens, limit, window, interval)
  if interval == 0 then return span_of(tokens, limit, window) end
  return math.min(LONGEST, math.ceil(tokens / limit) * window), 0
end

-- Returns: the instant at which `missing` more tokens have come.
local function instant_of(missing, instant, part, limit, window, interval)
  if missing <= 0 then return instant end
  local whole, fine = span_for(missing, limit, window, interval)
  return instant + whole + math.ceil((part + fine) / limit)
end

-- Returns: how many tokens are still missing at an instant, and up to when those that have come are credited
-- (microseconds, part).
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

-- Returns: the bucket after a refund: how many tokens are missing, and the instant up to which it is credited
-- (microseconds, part). The refund is limited to the tokens that come within a time (microseconds, rounded up). With
-- continuous refill it is exact, since the rest of a token counts as time.
local function give_back(tokens, time, now, missing, instant, part, limit, window, interval)
  if interval == 1 then return missing - math.min(tokens, math.ceil(time / window) * limit), instant, part end
  local left = window % limit == 0 and time or time - 1
  local whole, fine = span_for(tokens, limit, window, interval)
  if whole < left or (whole == left and fine == 0) then return missing - tokens, instant, part end
  return credit_up_to(now, missing, instant - left, part, limit, window, interval)
end
