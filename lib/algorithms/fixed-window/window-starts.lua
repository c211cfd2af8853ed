-- The starts of four consecutive windows (microseconds since the epoch): previous, current, coming and last. Windows
-- are numbered: 0 starts at `previous`. Windows outside these four have an assumed length, that of the nearest one.

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
