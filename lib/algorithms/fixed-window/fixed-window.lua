-- Fixed window: counts permits in a window that starts at the first request, or is aligned to the clock. The count is
-- reset at the end of each window. Debt is charged to the windows that follow.
--
-- KEYS  the rule's key: the windows that charges reach
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), aligned (1: windows start at multiples of the window since the
--       epoch; 0: at the first request)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs windows

local function step(key, now, cost, max_wait, _, limit, window, aligned)
  if limit == 0 then return false, 0, -1, 0 end
  even_grid.length, even_grid.is_shared = window, aligned == 1
  local start, windows, count, written = read_windows(key, now, even_grid)
  local at_once = max_wait < math.huge and 0 or max_wait
  return take_windows(now, start, windows, count, written, cost, at_once, limit, limit, 0, even_grid)
end

local function refund(key, now, cost, receipt, only_last, limit, window, aligned)
  if limit == 0 or only_last then return nil end
  even_grid.length, even_grid.is_shared = window, aligned == 1
  local start, windows, count, written = read_windows(key, now, even_grid)
  start, windows, count = refund_windows(now, start, windows, count, written, cost, receipt, limit, even_grid)
  if not start then return nil end
  return write_windows(start, windows, count, written), reset_windows(now, start, windows, even_grid)
end

return { step = step, refund = refund }
