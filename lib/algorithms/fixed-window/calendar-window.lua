-- Calendar window: counts permits per day, week or month of a time zone. The count is reset at the end of each window.
-- Debt is charged to the windows that follow. The caller passes the starts of the windows, since Lua in Redis has no
-- time zones.
--
-- KEYS  the rule's key: the windows that charges reach
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), previous, current, coming, last (microseconds since the epoch: the starts of four consecutive
--       windows around the time of the caller's clock; they are numbered from 0, and windows outside these four have an
--       assumed length, that of the nearest one)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs windows

-- Returns: the number of the window that contains an instant.
local function window_at(instant, starts)
  if instant >= starts.last then
    return 3 + math.floor((instant - starts.last) / (starts.last - starts.coming))
  end
  if instant >= starts.coming then return 2 end
  if instant >= starts.current then return 1 end
  return math.floor((instant - starts.previous) / (starts.current - starts.previous))
end

-- Returns: the instant at which the window with a number starts.
local function start_of(window, starts)
  if window >= 3 then return starts.last + (window - 3) * (starts.last - starts.coming) end
  if window == 2 then return starts.coming end
  return starts.previous + window * (starts.current - starts.previous)
end

-- Returns: the number of the window that starts nearest to an instant. Starts that were calculated with other known windows
-- differ by days where the length was assumed.
local function window_from(start, starts)
  local window = window_at(start, starts)
  return start_of(window + 1, starts) - start < start - start_of(window, starts) and window + 1 or window
end

-- The windows of the rule, see windows.lua.
local starts, grid = {}, { is_shared = true }

function grid.start_of(instant)
  return start_of(window_at(instant, starts), starts)
end

function grid.after(start, windows)
  return start_of(window_from(start, starts) + math.min(windows, math.floor(FARTHEST / grid.length)), starts)
end

function grid.ended(start, instant)
  return math.max(0, window_at(instant, starts) - window_from(start, starts))
end

-- Returns: the windows that charges still reach, for a rule with these starts.
local function read(key, now, previous, current, coming, last)
  starts.previous, starts.current, starts.coming, starts.last = previous, current, coming, last
  grid.length = last - coming
  return read_windows(key, now, grid)
end

-- Returns: the time after which a state expires: longer than until the full limit is available, since a window of assumed
-- length may be up to a quarter longer than the nearest known one.
local function expiry_of(now, reset_after)
  if now + reset_after <= starts.last then return reset_after end
  local unknown = window_from(now + reset_after, starts) - 3
  return reset_after + math.ceil(unknown / 4) * grid.length
end

local function step(key, now, cost, max_wait, _, limit, previous, current, coming, last)
  if limit == 0 then return false, 0, -1, 0 end
  local start, windows, count, written = read(key, now, previous, current, coming, last)
  local at_once = max_wait < math.huge and 0 or max_wait
  local allowed, remaining, wait, reset_after, state =
    take_windows(now, start, windows, count, written, cost, at_once, limit, limit, 0, grid)
  return allowed, remaining, wait, reset_after, state, allowed and expiry_of(now, reset_after)
end

local function refund(key, now, cost, receipt, only_last, limit, previous, current, coming, last)
  if limit == 0 or only_last then return nil end
  local start, windows, count, written = read(key, now, previous, current, coming, last)
  start, windows, count = refund_windows(now, start, windows, count, written, cost, receipt, limit, grid)
  if not start then return nil end
  return write_windows(start, windows, count, written), expiry_of(now, reset_windows(now, start, windows, grid))
end

return { step = step, refund = refund }
