-- How tokens come: `limit` of them a window, one by one at an even pace, or all at once after each
-- whole window (interval: 1). They are credited up to an instant (microseconds, part).
--
-- Needs  rate.lua

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

-- Returns: the most tokens that can come in a time of microseconds that has been rounded up to whole ones.
local function most_in(time, limit, window, interval)
  local rounded_up = window % limit == 0 and 0 or 1
  if interval == 0 then return permits_in(time - rounded_up, 0, limit, window) end
  return math.ceil(time / window) * limit
end
