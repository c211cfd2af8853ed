-- Sliding window of cells: counts permits in `cells` equal cells of the window, aligned to the clock. The oldest cell
-- counts in full until it has left the window, so that no window ever contains more than `limit`.
--
-- KEYS  the rule's key: a string, `written count count …`:
--       written  when it was written (microseconds since the epoch): an instant of the newest cell
--       count    the permits of each cell, newest first
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), cells
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

-- The maximum count of a cell.
local LONGEST = 2 ^ 51

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

-- Returns: when the state that replaces the stored one is written, the number of the newest cell, the counts by age, and
-- whether they were moved since the clock was set back.
local function read(key, now, window, cells)
  local stored, cell, counts = get(key), cell_at(now, window, cells), {}
  for age = 0, cells do counts[age] = 0 end
  if not stored then return now, cell, counts end
  local written, stored_counts = string.match(stored, '^(%d+) ([%d ]*%d)$')
  if not written then fail_unrecognised(key, window) end
  written = tonumber(written)
  local is_moved = set_back(written) > 0
  local newest = is_moved and cell or cell_at(written, window, cells)
  local age = math.max(0, cell - newest)
  local oldest = age + cells
  for count in string.gmatch(stored_counts, '%d+') do
    if age > oldest then fail_unrecognised(key, window) end
    if age <= cells then counts[age] = tonumber(count) end
    age = age + 1
  end
  if not is_moved then return math.max(now, written), math.max(cell, newest), counts end
  for moved = 1, cells do
    counts[0], counts[moved] = math.min(LONGEST, counts[0] + counts[moved]), 0
  end
  return now, cell, counts, true
end

-- Returns: the number of permits that count, and the time until none of them do.
local function sum(cell, counts, now, window, cells)
  local used, newest = 0, nil
  for age = cells, 0, -1 do
    used = used + counts[age]
    if counts[age] > 0 then newest = age end
  end
  return used, newest and expiry_of(cell - newest, window, cells) - now or 0
end

-- Returns: the state, without empty cells at the old end.
local function write(written, counts, cells)
  local texts, oldest = { string.format(INTEGER, written) }, cells
  while oldest > 0 and counts[oldest] == 0 do oldest = oldest - 1 end
  for age = 0, oldest do texts[age + 2] = string.format(INTEGER, counts[age]) end
  return table.concat(texts, ' ')
end

local function step(key, now, cost, max_wait, _, limit, window, cells)
  if limit == 0 then return false, 0, -1, 0 end

  local written, cell, counts = read(key, now, window, cells)
  local used, reset_after = sum(cell, counts, now, window, cells)
  local remaining = math.max(0, limit - used)

  if cost > remaining and max_wait < math.huge then
    if cost > limit then return false, remaining, -1, reset_after end
    local excess, age = used + cost - limit, cells + 1
    while excess > 0 do
      age = age - 1
      excess = excess - counts[age]
    end
    return false, remaining, expiry_of(cell - age, window, cells) - now, reset_after
  end

  if cost > 0 then reset_after = expiry_of(cell, window, cells) - now end
  counts[0] = math.min(LONGEST, counts[0] + cost)
  return true, math.max(0, remaining - cost), 0, reset_after, write(written, counts, cells), reset_after
end

local function refund(key, now, cost, receipt, only_last, _, window, cells)
  local written, cell, counts, is_moved = read(key, now, window, cells)
  if only_last or is_moved or receipt <= now then return nil end
  for age = 0, cells do
    if counts[age] > 0 and expiry_of(cell - age, window, cells) == receipt then
      counts[age] = math.max(0, counts[age] - cost)
      local _, reset_after = sum(cell, counts, now, window, cells)
      return write(written, counts, cells), reset_after
    end
  end
  return nil
end

return { step = step, refund = refund }
