-- Fixed window: counts permits in a window that starts at the first request, or is aligned to the clock. The count is
-- reset at the end of each window. Debt is charged to the windows that follow.
--
-- KEYS  the rule's key: a string, `count start debt window` (permits, microseconds, permits, microseconds).
--       Until this window ends, it also applies to a rule whose own window is shorter or ends sooner. The state of
--       an earlier release has no `window`; it uses the rule's own.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), aligned (1: windows start at multiples of the window since the
--       epoch; 0: at the first request)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

-- The longest debt: 71 years (microseconds), see rate.lua.
local LONGEST = 2 ^ 51

local FOUR_INTEGERS = THREE_INTEGERS .. ' ' .. INTEGER

-- Returns: the window that applies now (count, start, debt, window).
local function read(key, now, limit, own_window, aligned)
  local fresh = aligned == 1 and now - now % own_window or now
  local stored = get(key)
  if not stored then return 0, fresh, 0, own_window end
  -- The most frequent form first: a pattern with optional parts takes longer.
  local count, start, debt, window = string.match(stored, '^(%d+) (%d+) (%d+) (%d+)$')
  if not count then
    count, start, debt = string.match(stored, '^(%d+) (%d+) (%d+)$')
    if not count then return 0, fresh, 0, own_window end
  end
  count, start, debt, window = tonumber(count), tonumber(start), tonumber(debt), tonumber(window) or own_window
  if count + debt == 0 then return 0, fresh, 0, own_window end -- all refunded

  if now >= start + window then
    local passed = math.floor((now - start) / window)
    debt = debt - limit * (passed - 1)
    if debt <= 0 then return 0, fresh, 0, own_window end
    count = math.min(debt, limit)
    start, debt = start + passed * window, debt - count
  end
  if window >= own_window then return count, start, debt, window end
  local own_start = (aligned == 0 or start > now) and start or fresh
  -- A longer window that is aligned to the clock may end sooner than one that began at a request.
  if start + window > own_start + own_window then return count, start, debt, window end
  return count, own_start, debt, own_window
end

-- Returns: the length of a number of windows, at most LONGEST.
local function length_of(windows, window)
  return math.min(LONGEST, windows * window)
end

-- Returns: the time until the full limit is available.
local function reset_of(count, start, debt, now, limit, window)
  if count == 0 and debt == 0 then return 0 end
  return start + window - now + length_of(math.ceil(debt / limit), window)
end

local function write(count, start, debt, window)
  return string.format(FOUR_INTEGERS, count, start, debt, window)
end

local function step(key, now, cost, max_wait, _, limit, own_window, aligned)
  if limit == 0 then return false, 0, -1, 0 end

  local count, start, debt, window = read(key, now, limit, own_window, aligned)
  local remaining = math.max(0, limit - count - debt)
  if cost > remaining and max_wait < math.huge then
    local ahead = math.max(1, math.ceil((debt + cost) / limit))
    local retry_after = cost > limit and -1 or start + length_of(ahead, window) - now
    return false, remaining, retry_after, reset_of(count, start, debt, now, limit, window)
  end

  local taken = math.min(cost, remaining)
  count, debt = count + taken, math.min(LONGEST, debt + cost - taken)
  local reset_after = reset_of(count, start, debt, now, limit, window)
  return true, remaining - taken, 0, reset_after, write(count, start, debt, window), reset_after
end

local function refund(key, now, cost, receipt, only_last, limit, own_window, aligned)
  if limit == 0 then return nil end
  local count, start, debt, window = read(key, now, limit, own_window, aligned)
  if only_last or receipt <= now or receipt < start + window or count + debt == 0 then return nil end
  local forgiven = math.min(cost, debt)
  count, debt = math.max(0, count - (cost - forgiven)), debt - forgiven
  return write(count, start, debt, window), reset_of(count, start, debt, now, limit, window)
end

return { step = step, refund = refund }
