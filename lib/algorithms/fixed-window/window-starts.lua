-- The starts of four consecutive windows (microseconds since the epoch): previous, current, coming and last. Windows
-- are numbered: 0 starts at `previous`. Windows outside these four have an assumed length, that of the nearest one.

-- Returns: the number of the window that contains an instant. Where the length is assumed, `nearest` 0 rounds down;
-- 0.5 rounds to the nearest start, for an instant that is known to be the start of a window.
local function window_at(instant, starts, nearest)
  if instant >= starts.last then
    return 3 + math.floor((instant - starts.last) / (starts.last - starts.coming) + nearest)
  end
  if instant >= starts.coming then return 2 end
  if instant >= starts.current then return 1 end
  if instant >= starts.previous then return 0 end
  return math.floor((instant - starts.previous) / (starts.current - starts.previous) + nearest)
end

-- Returns: the instant at which the window with a number starts.
local function start_of(window, starts)
  if window >= 3 then return starts.last + (window - 3) * (starts.last - starts.coming) end
  if window == 2 then return starts.coming end
  return starts.previous + window * (starts.current - starts.previous)
end
