-- Calendar window: counts permits per day, week or month of a time zone. The count is reset at the end of each window.
-- Debt is charged to the windows that follow. The caller passes the starts of the windows, since Lua in Redis has no
-- time zones.
--
-- KEYS  the rule's key: a string, `count start debt window` (permits, microseconds, permits, microseconds).
--       Until this window ends, it also applies to a rule whose own window ends sooner. The state of an earlier
--       release has no `window`.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), previous, current, coming, last (microseconds since the epoch: the starts of four consecutive
--       windows around the time of the caller's clock)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs window-starts

-- The longest debt: 71 years (microseconds), see rate.lua.
local LONGEST = 2 ^ 51

local FOUR_INTEGERS = THREE_INTEGERS .. ' ' .. INTEGER

-- Returns: the rule's own window with a number (count, debt, start, ends_at, number of the next window).
local function own(count, debt, window, starts)
  return count, debt, start_of(window, starts), start_of(window + 1, starts), window + 1
end

-- Returns: the window that applies now (count, debt, start, ends_at, number of the rule's own window after ends_at).
local function read(key, now, limit, starts)
  local reached = window_at(now, starts, 0)
  local stored = get(key)
  local count, start, debt, length = string.match(stored or '', '^(%d+) (%d+) (%d+) ?(%d*)$')
  if not count then return own(0, 0, reached, starts) end
  count, start, debt, length = tonumber(count), tonumber(start), tonumber(debt), tonumber(length)

  local window = window_at(start, starts, 0.5)
  local ends_at = length and start + length or start_of(window + 1, starts)
  if start > now then return own(count, debt, math.max(reached, window), starts) end
  if now < ends_at then
    if count + debt == 0 or ends_at <= start_of(reached + 1, starts) then return own(count, debt, reached, starts) end
    return count, debt, start, ends_at, window_at(ends_at, starts, 0)
  end
  local owed = debt - limit * (reached - window_at(ends_at, starts, 0.5))
  if owed <= 0 then return own(0, 0, reached, starts) end
  local taken = math.min(owed, limit)
  return own(taken, owed - taken, reached, starts)
end

-- Returns: the instant after a number of windows, and how many of those windows have an assumed length.
local function end_of(windows, ends_at, next, starts)
  if windows == 1 then return ends_at, math.max(0, next - 3) end
  local number = next - 1 + math.min(windows, math.floor(LONGEST / (starts.last - starts.coming)))
  return start_of(number, starts), math.max(0, number - 3)
end

-- Returns: the time until the full limit is available, and the time after which the state expires. The latter is
-- longer, since a window of assumed length may be up to a quarter longer than the nearest known one.
local function reset_of(count, debt, ends_at, next, now, limit, starts)
  if count == 0 and debt == 0 then return 0, 0 end
  local at, unknown = end_of(1 + math.ceil(debt / limit), ends_at, next, starts)
  return at - now, at - now + math.ceil(unknown / 4) * (starts.last - starts.coming)
end

local function write(count, start, debt, ends_at)
  return string.format(FOUR_INTEGERS, count, start, debt, ends_at - start)
end

local function step(key, now, cost, max_wait, _, limit, previous, current, coming, last)
  if limit == 0 then return false, 0, -1, 0 end

  local starts = { previous = previous, current = current, coming = coming, last = last }
  local count, debt, start, ends_at, next = read(key, now, limit, starts)
  local remaining = math.max(0, limit - count - debt)
  if cost > remaining and max_wait < math.huge then
    local ahead = math.max(1, math.ceil((debt + cost) / limit))
    local retry_after = cost > limit and -1 or end_of(ahead, ends_at, next, starts) - now
    return false, remaining, retry_after, (reset_of(count, debt, ends_at, next, now, limit, starts))
  end

  local taken = math.min(cost, remaining)
  count, debt = count + taken, math.min(LONGEST, debt + cost - taken)
  local reset_after, expires_after = reset_of(count, debt, ends_at, next, now, limit, starts)
  return true, remaining - taken, 0, reset_after, write(count, start, debt, ends_at), expires_after
end

local function refund(key, now, cost, receipt, only_last, limit, previous, current, coming, last)
  if limit == 0 then return nil end
  local starts = { previous = previous, current = current, coming = coming, last = last }
  local count, debt, start, ends_at, next = read(key, now, limit, starts)
  if only_last or receipt <= now or receipt < ends_at or count + debt == 0 then return nil end
  local forgiven = math.min(cost, debt)
  count, debt = math.max(0, count - (cost - forgiven)), debt - forgiven
  local _, expires_after = reset_of(count, debt, ends_at, next, now, limit, starts)
  return write(count, start, debt, ends_at), expires_after
end

return { step = step, refund = refund }
