-- The starts of four windows in a row (microseconds): previous, current, coming and last. Windows are
-- numbered, 0 is the one that starts at `previous`; those beyond are taken to be as long as the nearest
-- one.

-- Returns: the number of the window that an instant is in. Where starts are not known, `nearest` (0.5)
-- takes it for the start of a window, and 0 for any instant in one.
local function window_at(instant, starts, nearest)
  if instant >= starts.last then
    return 3 + math.floor((instant - starts.last) / (starts.last - starts.coming) + nearest)
  end
  if instant >= starts.coming then return 2 end
  if instant >= starts.current then return 1 end
  if instant >= starts.previous then return 0 end
  return math.floor((instant - starts.previous) / (starts.current - starts.previous) + nearest)
end

-- Returns: the instant at which a window starts.
local function start_of(window, starts)
  if window >= 3 then return starts.last + (window - 3) * (starts.last - starts.coming) end
  if window == 2 then return starts.coming end
  return starts.previous + window * (starts.current - starts.previous)
end
