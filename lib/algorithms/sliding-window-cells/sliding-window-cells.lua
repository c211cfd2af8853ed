-- Sliding window of cells: counts permits in `cells` equal parts of the window on the clock's grid,
-- and counts the oldest part whole until it has left the window, so that no window ever holds more
-- than `limit`.
--
-- KEYS  the rule's key: a string, `cell count count …` (the newest cell's number since the epoch,
--       then the permits of it and of those before it, newest first)
-- ARGV  now (microseconds), cost (permits), limit (permits), window (microseconds), cells
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after

-- Returns: the instant at which a cell stops counting, a window after it has ended.
local function expiry_of(cell, window, cells)
  local first = cell + 1 + cells
  local within = first % cells
  return (first - within) / cells * window + math.ceil(within * window / cells)
end

local function step(key, now, cost, limit, window, cells)
  if limit == 0 then return false, 0, -1, 0 end

  local within = now % window
  local cell = (now - within) / window * cells + math.floor(within * cells / window)
  local counts, used, newest = {}, 0, nil
  for age = 0, cells do counts[age] = 0 end
  local stored = redis.call('GET', key)
  if stored then
    local s_cell, s_counts = string.match(stored, '^(%d+) (.*)$')
    local age = math.max(0, cell - (tonumber(s_cell) or cell))
    cell = math.max(cell, tonumber(s_cell) or cell)
    for count in string.gmatch(s_counts or '', '%d+') do
      if age > cells then break end
      counts[age] = tonumber(count)
      used = used + counts[age]
      if counts[age] > 0 then newest = math.min(newest or age, age) end
      age = age + 1
    end
  end

  local remaining = math.max(0, limit - used)
  local reset_after = newest and expiry_of(cell - newest, window, cells) - now or 0

  if cost > remaining then
    if cost > limit then return false, remaining, -1, reset_after end
    local excess, age = used + cost - limit, cells + 1
    while excess > 0 do
      age = age - 1
      excess = excess - counts[age]
    end
    return false, remaining, expiry_of(cell - age, window, cells) - now, reset_after
  end

  if cost > 0 then
    counts[0] = counts[0] + cost
    reset_after = expiry_of(cell, window, cells) - now
  end
  local oldest = cells
  while oldest > 0 and counts[oldest] == 0 do oldest = oldest - 1 end
  for age = 0, oldest do counts[age] = string.format('%.0f', counts[age]) end
  local state = string.format('%.0f ', cell) .. table.concat(counts, ' ', 0, oldest)
  return true, remaining - cost, 0, reset_after, state, reset_after
end

return { step = step }
