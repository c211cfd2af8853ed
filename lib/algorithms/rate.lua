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
