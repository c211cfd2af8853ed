-- Fixed window: counts permits in a window that starts at the first hit, or on the clock's grid,
-- and starts again from zero when it ends. Debt is taken from the windows that follow.
--
-- KEYS  the rule's key: a string, `count start debt` (permits, microseconds, permits)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), aligned (1: windows start at multiples of the
--       window since the epoch; 0: at the first hit)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after

-- Returns: the window as it is now (count, start, debt).
local function read(key, now, limit, window, aligned)
  local fresh = aligned == 1 and now - now % window or now
  local stored = get(key)
  if not stored then return 0, fresh, 0 end
  local count, start, debt = string.match(stored, '^(%d+) (%d+) (%d+)$')
  if not count then return 0, fresh, 0 end
  count, start, debt = tonumber(count), tonumber(start), tonumber(debt)
  if count + debt == 0 then return 0, fresh, 0 end -- all given back

  local reached = aligned == 1 and fresh or now
  if start + (aligned == 1 and 1 or window) > reached then return count, start, debt end
  local passed = math.max(1, math.floor((reached - start) / window))
  debt = debt - limit * (passed - 1)
  if debt <= 0 then return 0, fresh, 0 end
  count = math.min(debt, limit)
  return count, aligned == 1 and fresh or start + passed * window, debt - count
end

-- Returns: how long until nothing of it counts any more.
local function reset_of(count, start, debt, now, limit, window)
  if count == 0 and debt == 0 then return 0 end
  return start + window - now + math.ceil(debt / limit) * window
end

local function write(count, start, debt)
  return string.format(THREE_INTEGERS, count, start, debt)
end

local function step(key, now, cost, patience, _, limit, window, aligned)
  if limit == 0 then return false, 0, -1, 0 end

  local count, start, debt = read(key, now, limit, window, aligned)
  local remaining = math.max(0, limit - count - debt)
  if cost > remaining and patience < math.huge then
    local ahead = math.max(1, math.ceil((debt + cost) / limit))
    local retry_after = cost > limit and -1 or start + ahead * window - now
    return false, remaining, retry_after, reset_of(count, start, debt, now, limit, window)
  end

  local taken = math.min(cost, remaining)
  count, debt = count + taken, debt + cost - taken
  local reset_after = reset_of(count, start, debt, now, limit, window)
  return true, remaining - taken, 0, reset_after, write(count, start, debt), reset_after
end

local function refund(key, now, cost, receipt, only_last, limit, window, aligned)
  if limit == 0 then return nil end
  local count, start, debt = read(key, now, limit, window, aligned)
  if only_last or receipt <= now or receipt < start + window or count + debt == 0 then return nil end
  local forgiven = math.min(cost, debt)
  count, debt = math.max(0, count - (cost - forgiven)), debt - forgiven
  return write(count, start, debt), reset_of(count, start, debt, now, limit, window)
end

return { step = step, refund = refund }
