-- The grid of cells: each window of the clock, a multiple of `window` microseconds since the epoch, in
-- `cells` parts that are equal to the microsecond.

-- Returns: the number since the epoch of the cell that an instant is in.
local function cell_at(instant, window, cells)
  local within = instant % window
  return (instant - within) / window * cells + math.floor(within * cells / window)
end

-- Returns: the instant at which a cell stops counting, a window after it has ended.
local function expiry_of(cell, window, cells)
  local first = cell + 1 + cells
  local within = first % cells
  return (first - within) / cells * window + math.ceil(within * window / cells)
end
