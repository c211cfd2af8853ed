-- Exact arithmetic for a rate of `limit` permits per `window` microseconds. A span of time is a
-- pair: whole microseconds, and a part counted in 1/limit of a microsecond, so that rates which
-- do not divide evenly (3 per 7 s) never drift. Exact while permits x limit is below 2^53, and else,
-- which is debt only, rounded up.

-- The longest debt, 71 years (microseconds): an instant so far ahead is an integer that a double holds.
local LONGEST = 2 ^ 51

-- Returns: the span in which `permits` come back (microseconds, part), at most the longest.
local function span_of(permits, limit, window)
  local rest, whole, part = window % limit, nil, 0
  if rest == 0 then
    whole = permits * (window / limit)
  elseif permits * limit > 2 ^ 53 - 1 then
    whole = math.ceil(permits / limit * window)
  else
    local fine = permits * rest
    whole, part = permits * ((window - rest) / limit) + math.floor(fine / limit), fine % limit
  end
  if whole < LONGEST then return whole, part end
  return LONGEST, 0
end

-- Returns: the most permits that can be owed at a rate, what comes back in the longest debt.
local function most_owed(limit, window)
  if window % limit == 0 then return math.min(LONGEST, math.floor(LONGEST / (window / limit))) end
  return math.min(LONGEST, math.floor(LONGEST / window) * limit)
end

-- Returns: whether permits come back more slowly at a rate than at another.
local function is_slower(limit, window, other_limit, other_window)
  return window / limit > other_window / other_limit
end

-- Returns: how long at another rate the permits take that take a span at one (microseconds), rounded up.
local function convert(span, part, limit, window, to_limit, to_window)
  local ratio = to_window / to_limit / (window / limit)
  return math.min(LONGEST, math.ceil((span + part / limit) * ratio))
end

-- Returns: how many whole permits come back within a span; 0 for a negative one.
local function permits_in(span, part, limit, window)
  if span < 0 then return 0 end
  if window % limit == 0 then return math.floor(span / (window / limit)) end
  local guess = math.floor((span + part / limit) * limit / window)
  local whole, fine = span_of(guess, limit, window)
  if whole > span or (whole == span and fine > part) then return guess - 1 end
  whole, fine = span_of(guess + 1, limit, window)
  if whole < span or (whole == span and fine <= part) then return guess + 1 end
  return guess
end
