-- Exact arithmetic for a rate of `limit` permits per `window` microseconds. A span is a pair: whole microseconds, and
-- a fraction (part) in units of 1/limit microsecond, so that rates that do not divide evenly (3 per 7 s) never drift.
-- Exact if permits x limit is below 2^53; above that, which only debt reaches, rounded up.

-- The longest debt: 71 years (microseconds). A double represents an instant that far ahead exactly.
local LONGEST = 2 ^ 51

-- Returns: the span in which `permits` become available (microseconds, part), at most LONGEST.
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

-- Returns: how many whole permits become available within a span; 0 for a negative span.
local function permits_in(span, part, limit, window)
  if span < 0 then return 0 end
  if window % limit == 0 then
    local permits = span / (window / limit)
    return permits - permits % 1 -- math.floor would be a call of a C function
  end
  local guess = math.floor((span + part / limit) * limit / window)
  local whole, fine = span_of(guess, limit, window)
  if whole > span or (whole == span and fine > part) then return guess - 1 end
  whole, fine = span_of(guess + 1, limit, window)
  if whole < span or (whole == span and fine <= part) then return guess + 1 end
  return guess
end
