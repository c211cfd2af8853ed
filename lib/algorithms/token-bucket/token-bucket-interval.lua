-- Token bucket with refill by the interval: holds up to `burst` tokens. A request takes `cost` of them; `limit` tokens are
-- added at once after each whole window. The windows that charges reach are those that add the missing tokens.
--
-- KEYS  the rule's key: the windows that charges reach
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), initial (tokens of a new bucket), overdraft (1: a
--       waiting request may cost more than the burst)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs windows

-- How long a full bucket is kept if a new one would not be full (microseconds).
local MEMORY = 86400000000

-- Returns: the time after which the bucket decides like a new one.
local function expiry_of(now, start, windows, burst, initial)
  if initial == burst then return reset_windows(now, start, windows, even_grid) end
  return even_grid.after(start, windows) - now + MEMORY
end

local function step(key, now, cost, max_wait, _, limit, window, burst, initial, overdraft)
  if limit == 0 then return false, 0, -1, 0 end
  even_grid.length, even_grid.is_shared = window, false
  local start, windows, count, written = read_windows(key, now, even_grid)
  local is_new = not get(key) or (windows == 0 and start + MEMORY <= now)
  if is_new then start, windows, count = charge_windows(now, start, windows, count, burst - initial, limit, even_grid) end

  local allowed, remaining, wait, reset_after, state =
    take_windows(now, start, windows, count, written, cost, max_wait, limit, burst, overdraft, even_grid)
  -- A denial stores nothing, so that a new bucket gains no tokens.
  if not allowed then return false, remaining, is_new and -1 or wait, reset_after end
  if initial == burst then return true, remaining, wait, reset_after, state, reset_after end
  local full_after = reset_after > 0 and reset_after or start - now
  return true, remaining, wait, reset_after, state, full_after + MEMORY
end

-- A charge expires as the bucket fills: after later charges, at most what can be left of it is refunded.
local function refund(key, now, cost, receipt, only_last, limit, window, burst, initial)
  if limit == 0 then return nil end
  even_grid.length, even_grid.is_shared = window, false
  local start, windows, count, written = read_windows(key, now, even_grid)
  if only_last and even_grid.after(start, windows) ~= receipt then return nil end
  local back = math.min(cost, math.ceil((receipt - now) / window) * limit)
  start, windows, count = refund_windows(now, start, windows, count, written, back, receipt, limit, even_grid)
  if not start then return nil end
  return write_windows(start, windows, count, written), expiry_of(now, start, windows, burst, initial)
end

return { step = step, refund = refund }
