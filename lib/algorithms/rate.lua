-- Exact arithmetic for a rate of `limit` permits per `window` microseconds. A span of time is a
-- pair: whole microseconds, and a part counted in 1/limit of a microsecond, so that rates which
-- do not divide evenly (3 per 7 s) never drift. Exact while a span and permits x limit are below 2^53.

-- Returns: the span in which `permits` come back (microseconds, part).
local function span_of(permits, limit, window)
  local rest = window % limit
  if rest == 0 then return permits * (window / limit), 0 end
  local fine = permits * rest
  return permits * ((window - rest) / limit) + math.floor(fine / limit), fine % limit
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
