-- Calendar window: counts permits in the days, weeks or months of a time zone, which the caller knows
-- and the server does not, and starts again from zero with each. Debt is taken from the windows that
-- follow.
--
-- KEYS  the rule's key: a string, `count start debt` (permits, microseconds, permits)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), previous, current, coming, last (microseconds: the starts of four windows in
--       a row, around now by the caller's clock)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after
-- Needs  window-starts.lua

-- Returns: the window as it is now (count, number, debt).
local function read(key, now, limit, starts)
  local reached = window_at(now, starts, 0)
  local stored = get(key)
  local count, start, debt = string.match(stored or '', '^(%d+) (%d+) (%d+)$')
  if not count then return 0, reached, 0 end
  count, debt = tonumber(count), tonumber(debt)

  local window = window_at(tonumber(start), starts, 0.5)
  if window >= reached then return count, window, debt end
  debt = debt - limit * (reached - window - 1)
  if debt <= 0 then return 0, reached, 0 end
  count = math.min(debt, limit)
  return count, reached, debt - count
end

-- Returns: how long until nothing of it counts any more, and when it may be forgotten: windows that
-- are not known may be longer than the nearest one, but by less than a quarter.
local function reset_of(count, window, debt, now, limit, starts)
  if count == 0 and debt == 0 then return 0, 0 end
  local free = window + 1 + math.ceil(debt / limit)
  local reset_after = start_of(free, starts) - now
  local unknown = math.max(0, free - 3)
  return reset_after, reset_after + math.ceil(unknown / 4) * (starts.last - starts.coming)
end

local function write(count, window, debt, starts)
  return string.format(THREE_INTEGERS, count, start_of(window, starts), debt)
end

local function step(key, now, cost, patience, _, limit, previous, current, coming, last)
  if limit == 0 then return false, 0, -1, 0 end

  local starts = { previous = previous, current = current, coming = coming, last = last }
  local count, window, debt = read(key, now, limit, starts)
  local remaining = math.max(0, limit - count - debt)
  if cost > remaining and patience < math.huge then
    local ahead = math.max(1, math.ceil((debt + cost) / limit))
    local retry_after = cost > limit and -1 or start_of(window + ahead, starts) - now
    return false, remaining, retry_after, (reset_of(count, window, debt, now, limit, starts))
  end

  local taken = math.min(cost, remaining)
  count, debt = count + taken, debt + cost - taken
  local reset_after, expires_after = reset_of(count, window, debt, now, limit, starts)
  return true, remaining - taken, 0, reset_after, write(count, window, debt, starts), expires_after
end

local function refund(key, now, cost, receipt, only_last, limit, previous, current, coming, last)
  if limit == 0 then return nil end
  local starts = { previous = previous, current = current, coming = coming, last = last }
  local count, window, debt = read(key, now, limit, starts)
  local ends_at = start_of(window + 1, starts)
  if only_last or receipt <= now or receipt < ends_at or count + debt == 0 then return nil end
  local forgiven = math.min(cost, debt)
  count, debt = math.max(0, count - (cost - forgiven)), debt - forgiven
  local _, expires_after = reset_of(count, window, debt, now, limit, starts)
  return write(count, window, debt, starts), expires_after
end

return { step = step, refund = refund }
