-- Sliding window of cells: counts permits in `cells` equal parts of the window on the clock's grid,
-- and counts the oldest part whole until it has left the window, so that no window ever holds more
-- than `limit`.
--
-- KEYS  the rule's key: a string, `expiry count count …` (the instant at which the newest cell stops
--       counting, in microseconds, then the permits of it and of those before it, newest first)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), cells
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after
-- Needs  cell-grid.lua

-- Returns: the newest cell's number, and the permits of it and of those before it by age. Counts of
-- another grid, before the rule was changed, all go to the newest of them.
local function read(key, now, window, cells)
  local cell, counts = cell_at(now, window, cells), {}
  for age = 0, cells do counts[age] = 0 end
  local stored = get(key)
  local expiry, stored_counts = string.match(stored or '', '^(%d+) (.*)$')
  if not expiry then return cell, counts end

  local newest = cell_at(tonumber(expiry) - window - 1, window, cells)
  local same_grid = expiry_of(newest, window, cells) == tonumber(expiry)
  local age = math.max(0, cell - newest)
  for count in string.gmatch(stored_counts, '%d+') do
    if age > cells then break end
    counts[age] = counts[age] + tonumber(count)
    if same_grid then age = age + 1 end
  end
  return math.max(cell, newest), counts
end

-- Returns: the permits that count, and how long until none of them does.
local function sum(cell, counts, now, window, cells)
  local used, newest = 0, nil
  for age = cells, 0, -1 do
    used = used + counts[age]
    if counts[age] > 0 then newest = age end
  end
  return used, newest and expiry_of(cell - newest, window, cells) - now or 0
end

-- Returns: the state, without the empty cells at its old end.
local function write(cell, counts, window, cells)
  local texts, oldest = {}, cells
  while oldest > 0 and counts[oldest] == 0 do oldest = oldest - 1 end
  for age = 0, oldest do texts[age] = string.format(INTEGER, counts[age]) end
  return string.format(INTEGER, expiry_of(cell, window, cells)) .. ' ' .. table.concat(texts, ' ', 0, oldest)
end

local function step(key, now, cost, patience, _, limit, window, cells)
  if limit == 0 then return false, 0, -1, 0 end

  local cell, counts = read(key, now, window, cells)
  local used, reset_after = sum(cell, counts, now, window, cells)
  local remaining = math.max(0, limit - used)

  if cost > remaining and patience < math.huge then
    if cost > limit then return false, remaining, -1, reset_after end
    local excess, age = used + cost - limit, cells + 1
    while excess > 0 do
      age = age - 1
      excess = excess - counts[age]
    end
    return false, remaining, expiry_of(cell - age, window, cells) - now, reset_after
  end

  if cost > 0 then reset_after = expiry_of(cell, window, cells) - now end
  counts[0] = counts[0] + cost
  return true, math.max(0, remaining - cost), 0, reset_after, write(cell, counts, window, cells), reset_after
end

local function refund(key, now, cost, receipt, only_last, limit, window, cells)
  local cell, counts = read(key, now, window, cells)
  if only_last or receipt <= now then return nil end
  for age = 0, cells do
    if counts[age] > 0 and expiry_of(cell - age, window, cells) == receipt then
      counts[age] = math.max(0, counts[age] - cost)
      local _, reset_after = sum(cell, counts, now, window, cells)
      return write(cell, counts, window, cells), reset_after
    end
  end
  return nil
end

return { step = step, refund = refund }
