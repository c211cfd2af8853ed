-- Sliding window of cells: counts permits in `cells` equal cells of the window, aligned to the clock. The oldest cell
-- counts in full until it has left the window, so that no window ever contains more than `limit`.
--
-- KEYS  the rule's key: a string, `window/cells:until expiry count count …`:
--       window  length of the window (microseconds)
--       until   until when this grid also applies to a rule with a shorter window (microseconds since the epoch);
--               without `:until`, until no cell counts
--       expiry  the instant at which the newest cell stops counting (microseconds since the epoch)
--       count   the permits of each cell, newest first
--       The state of an earlier release has no `window/cells:until`; it uses the rule's own grid.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), cells
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs cell-grid

-- The maximum count of a cell.
local LONGEST = 2 ^ 51

local GRID = INTEGER .. '/' .. INTEGER

local function empty(now, window, cells)
  local counts = {}
  for age = 0, cells do counts[age] = 0 end
  return cell_at(now, window, cells), counts
end

-- Returns: the current cells of a state, in its own grid (number of the newest cell, counts by age).
local function aged(now, expiry, stored_counts, window, cells)
  local cell, counts = empty(now, window, cells)
  local newest = cell_at(expiry - window - 1, window, cells)
  local age = math.max(0, cell - newest)
  for count in string.gmatch(stored_counts, '%d+') do
    if age > cells then break end
    counts[age], age = tonumber(count), age + 1
  end
  return math.max(cell, newest), counts
end

-- Returns: the current cells of a state in the rule's grid, as if each permit had been taken at the end of its cell
-- (number of the newest cell, counts by age).
local function moved(now, expiry, stored_counts, window, cells, own_window, own_cells)
  local cell, counts = empty(now, own_window, own_cells)
  local newest = cell_at(expiry - window - 1, window, cells)
  cell = math.max(cell, cell_at(expiry - window - 1, own_window, own_cells))
  for count in string.gmatch(stored_counts, '%d+') do
    local expires_at = expiry_of(newest, window, cells)
    if expires_at <= now then break end
    local at = cell - cell_at(expires_at - window - 1, own_window, own_cells)
    if at <= own_cells then counts[at] = counts[at] + tonumber(count) end
    newest = newest - 1
  end
  return cell, counts
end

-- Returns: the number of the newest cell, the counts by age, and their grid: window, cells, and until when that applies
-- instead of the rule's own (0 if it is the rule's own).
local function read(key, now, own_window, own_cells)
  local stored = get(key) or ''
  local window, cells, ends_at, expiry, counts = string.match(stored, '^(%d+)/(%d+):?(%d*) (%d+) (.*)$')
  if not window then
    window, cells, expiry, counts = own_window, own_cells, string.match(stored, '^(%d+) (.*)$')
  end
  window, cells, ends_at, expiry = tonumber(window), tonumber(cells), tonumber(ends_at), tonumber(expiry)

  local cell
  if not expiry or expiry <= now then
    cell, counts = empty(now, own_window, own_cells)
    return cell, counts, own_window, own_cells, 0
  end
  if window == own_window then
    cell, counts = aged(now, expiry, counts, window, cells)
    return cell, counts, window, cells, 0
  end
  if window < own_window or now >= (ends_at or expiry) then
    cell, counts = moved(now, expiry, counts, window, cells, own_window, own_cells)
    return cell, counts, own_window, own_cells, 0
  end
  cell, counts = aged(now, expiry, counts, window, cells)
  return cell, counts, window, cells, ends_at or expiry
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
local function write(cell, counts, window, cells, ends_at)
  local texts, oldest = {}, cells
  while oldest > 0 and counts[oldest] == 0 do oldest = oldest - 1 end
  for age = 0, oldest do texts[age] = string.format(INTEGER, counts[age]) end
  local grid = string.format(GRID, window, cells)
  if ends_at > 0 then grid = grid .. ':' .. string.format(INTEGER, ends_at) end
  return grid .. ' ' .. string.format(INTEGER, expiry_of(cell, window, cells)) .. ' ' .. table.concat(texts, ' ', 0, oldest)
end

local function step(key, now, cost, max_wait, _, limit, own_window, own_cells)
  if limit == 0 then return false, 0, -1, 0 end

  local cell, counts, window, cells, ends_at = read(key, now, own_window, own_cells)
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
  return true, math.max(0, remaining - cost), 0, reset_after, write(cell, counts, window, cells, ends_at), reset_after
end

local function refund(key, now, cost, receipt, only_last, limit, own_window, own_cells)
  local cell, counts, window, cells, ends_at = read(key, now, own_window, own_cells)
  if only_last or receipt <= now then return nil end
  for age = 0, cells do
    if counts[age] > 0 and expiry_of(cell - age, window, cells) == receipt then
      counts[age] = math.max(0, counts[age] - cost)
      local _, reset_after = sum(cell, counts, now, window, cells)
      return write(cell, counts, window, cells, ends_at), reset_after
    end
  end
  return nil
end

return { step = step, refund = refund }
