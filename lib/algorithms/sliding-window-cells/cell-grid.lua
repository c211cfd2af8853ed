-- The grid of cells: windows start at multiples of `window` microseconds since the epoch, and each is divided into
-- `cells` cells of equal length, to the microsecond.

-- Returns: the number of the cell that contains an instant, counted from the epoch.
local function cell_at(instant, window, cells)
  local within = instant % window
  return (instant - within) / window * cells + math.floor(within * cells / window)
end

-- Returns: the instant at which a cell stops counting: one window after its end.
local function expiry_of(cell, window, cells)
  local first = cell + 1 + cells
  local within = first % cells
  return (first - within) / cells * window + math.ceil(within * window / cells)
end
