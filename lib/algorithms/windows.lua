-- The windows that charges reach: all before the last are full. Fixed windows count so, and the tokens that a bucket
-- lacks, if it gains them at the end of each window.
--
-- KEYS  a string, `start count age` or `start count age windows`:
--       start    start of the first of these windows (microseconds since the epoch); without any: the end of the last
--       count    permits used in the last of them; a rule with a lower limit reads its own limit
--       age      how long after `start` the state was written (microseconds)
--       windows  how many they are; absent: 1; 0: no permit is used
--
-- A grid is where the windows of a rule lie: `length` (microseconds), `is_shared` (whether windows start at the same
-- instants for every subject; otherwise, the first starts with a charge), `start_of` (the start of the window that contains
-- an instant), `after` (the start of the window that is some windows after the one with a start), `ended` (how many
-- windows have ended between the start of one and a later instant).

-- The longest debt: 71 years (microseconds), see rate.lua.
local FARTHEST = 2 ^ 51

-- Windows of one length, aligned to the clock or to a charge. An algorithm sets `length` and `is_shared`.
local even_grid = { length = 1, is_shared = false }

function even_grid.start_of(instant)
  return even_grid.is_shared and instant - instant % even_grid.length or instant
end

function even_grid.after(start, windows)
  return start + math.min(FARTHEST, windows * even_grid.length)
end

function even_grid.ended(start, instant)
  return math.floor((instant - start) / even_grid.length)
end

-- Returns: the windows that charges still reach (start, windows, count, written).
local function read_windows(key, now, grid)
  local stored = get(key)
  if not stored then return now, 0, 0, now end
  local start, count, age = string.match(stored, '^(%d+) (%d+) (%d+)$')
  local windows = 1
  if not start then
    start, count, age, windows = string.match(stored, '^(%d+) (%d+) (%d+) (%d+)$')
    if not start then fail_unrecognised(key, grid.length) end
  end
  start, count, windows = tonumber(start), tonumber(count), tonumber(windows)

  local written = start + tonumber(age)
  local by = set_back(written)
  if by > 0 then
    start, written = grid.is_shared and grid.start_of(now) or start - by, now
  elseif written < now then
    written = now
  end
  local ended = math.min(windows, grid.ended(start, written))
  if ended > 0 then start = grid.after(start, ended) end
  if ended == windows then return math.min(start, now), 0, 0, now end
  return start, windows - ended, count, math.max(start, written)
end

local function write_windows(start, windows, count, written)
  local state = string.format(THREE_INTEGERS, start, count, written - start)
  return windows == 1 and state or state .. ' ' .. string.format(INTEGER, windows)
end

-- Returns: the time until no permit is used any more.
local function reset_windows(now, start, windows, grid)
  return windows == 0 and 0 or grid.after(start, windows) - now
end

-- Returns: the windows that charges reach after one more (start, windows, count), which takes what the last one has left
-- and the following ones. Without such a window, the one before the current window counts as full.
local function charge_windows(now, start, windows, count, cost, limit, grid)
  if cost == 0 then return start, windows, count end
  local used = (windows == 0 and limit or math.min(count, limit)) + cost
  local more = math.ceil(used / limit) - 1
  local most = FARTHEST / grid.length
  if windows == 0 then start = grid.start_of(now) end
  if windows + more > most then return start, math.floor(most), limit end
  return start, windows + more, used - more * limit
end

-- Decides a request: it is allowed as soon as at most `burst` permits are used with it.
-- Returns: the same as `step` of an algorithm.
local function take_windows(now, start, windows, count, written, cost, max_wait, limit, burst, overdraft, grid)
  local in_last = windows == 0 and limit or math.min(count, limit)
  local used = (windows - 1) * limit + in_last
  local remaining = math.max(0, burst - used)

  local wait = 0
  if cost > remaining then
    local debt = math.ceil(cost / limit) * grid.length
    local overdraws = cost > burst and overdraft == 1 and max_wait > 0 and debt < FARTHEST / 2
    local most = overdraws and 0 or burst - cost
    if used > most then
      local left = math.floor((most - in_last) / limit) + 1
      wait = grid.after(windows == 0 and grid.start_of(now) or start, windows - left) - now
    end
    local is_never = cost > burst and not overdraws
    if max_wait < math.huge and (is_never or wait > max_wait) then
      return false, remaining, is_never and -1 or wait - max_wait, reset_windows(now, start, windows, grid)
    end
  end

  start, windows, count = charge_windows(now, start, windows, count, cost, limit, grid)
  local reset_after = reset_windows(now, start, windows, grid)
  return true, math.max(0, remaining - cost), wait, reset_after, write_windows(start, windows, count, written), reset_after
end

-- Returns: the windows that charges reach after a refund (start, windows, count); nil if the charge has expired.
local function refund_windows(now, start, windows, count, written, cost, receipt, limit, grid)
  if windows == 0 or receipt <= now or receipt < grid.after(start, 1) then return nil end
  local left = count - cost
  local less = left > 0 and 0 or math.floor(-left / limit) + 1
  if less >= windows then return written, 0, 0 end
  return start, windows - less, left + less * limit
end
