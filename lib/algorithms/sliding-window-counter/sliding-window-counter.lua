-- Sliding window counter: two counters of windows that are aligned to the clock. The count of the previous window is
-- weighted by the part of it that the sliding window still covers.
--
-- KEYS  the rule's key: a string, `start current previous window until`:
--       start              start of the current window (microseconds since the epoch)
--       current, previous  permits taken in the current and in the previous window
--       window             length of both windows (microseconds); absent in the state of an earlier release: the rule's
--       until              until when these windows also apply to a rule with a shorter window (microseconds since the
--                          epoch); absent: until they no longer count
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), unit (microseconds: the unit in which time is measured, so that no
--       product exceeds the exact integers of a double)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

-- The maximum count of a window, and the largest product, which leaves room for it.
local LONGEST, LARGEST = 2 ^ 51, 2 ^ 52

local FOUR_INTEGERS = THREE_INTEGERS .. ' ' .. INTEGER

-- Instead of the end of longer windows: the windows were converted from shorter ones.
local CONVERTED = -1

-- The stored windows (start, current, previous, window, until), if their length is not that of the rule.
local s_start, s_current, s_previous, s_window, s_until

-- Returns: how many of `count` permits still count while the sliding window covers `left` of theirs, rounded down.
local function weigh(count, left, window, unit)
  return math.floor(count * math.ceil(left / unit) / math.ceil(window / unit))
end

-- Returns: how long until a denied request would be allowed, if its windows apply until then.
local function wait_for(cost, now, start, current, previous, limit, window, unit)
  local ends_at, count, room = start + window, previous, limit - current - cost
  if room < 0 then ends_at, count, room = ends_at + window, current, limit - cost end
  -- Subtracts the longest time before the end at which `weigh` returns at most the room.
  return ends_at - now - (math.ceil((room + 1) * math.ceil(window / unit) / count) - 1) * unit
end

-- Returns: the windows advanced to those of an instant (start, current, previous).
local function at(instant, start, current, previous, window)
  local reached = instant - instant % window
  if start >= reached then return start, current, previous end
  if start == reached - window then return reached, 0, current end
  return reached, 0, 0
end

-- Returns: how many of `count` permits count in a conversion while `left` of their window is covered, rounded up.
local function counted_at(left, count, window)
  return math.ceil(count * (left / window))
end

-- Returns: the stored windows converted to another length: all permits that count at an instant, rounded up, count as
-- taken at it (start, current, previous).
local function convert(instant, to_window)
  local start, current, previous = at(instant, s_start, s_current, s_previous, s_window)
  local left = math.min(s_window, start + s_window - instant)
  return instant - instant % to_window, current + counted_at(left, previous, s_window), 0
end

-- Returns: the same as `read`, for stored windows of another length.
local function read_other(now, own_window)
  if now >= s_start + 2 * s_window then return now - now % own_window, 0, 0, own_window, 0 end
  local start, current, previous
  if s_window < own_window then
    start, current, previous = convert(math.max(now, s_start), own_window)
    return start, current, previous, own_window, CONVERTED
  end
  local ends_at = s_until or s_start + 2 * s_window
  if now < ends_at then
    start, current, previous = at(now, s_start, s_current, s_previous, s_window)
    return start, current, previous, s_window, ends_at
  end
  start, current, previous = convert(ends_at, own_window)
  start, current, previous = at(now, start, current, previous, own_window)
  return start, current, previous, own_window, 0
end

-- Returns: a wait, corrected if it lasts beyond the time when longer windows stop to apply.
local function wait_after(wait, cost, now, ends_at, limit, own_window, unit)
  if now + wait < ends_at then return wait end
  local start, current, previous = convert(ends_at, own_window)
  local own_wait = current + cost <= limit and 0
    or wait_for(cost, ends_at, start, current, previous, limit, own_window, unit)
  return math.min(ends_at + own_wait, s_start + 2 * s_window) - now
end

-- Returns: how long until shorter windows leave room: a denial stores nothing, so each request converts them anew.
local function wait_for_shorter(cost, now, limit)
  local start, current, previous = at(math.max(now, s_start), s_start, s_current, s_previous, s_window)
  local ends_at, count, room = start + s_window, previous, limit - current - cost
  if room < 0 then ends_at, count, room = ends_at + s_window, current, limit - cost end
  local left = math.floor(room / count * s_window)
  while counted_at(left, count, s_window) > room do left = left - 1 end
  return ends_at - left - now
end

-- Returns: how long until a request would be allowed that is denied now; -1 if it never would be.
local function retry_after(cost, now, start, current, previous, window, unit, ends_at, limit, own_window, own_unit)
  if cost > limit then return -1 end
  if ends_at == CONVERTED then return wait_for_shorter(cost, now, limit) end
  local wait = wait_for(cost, now, start, current, previous, limit, window, unit)
  return ends_at > 0 and wait_after(wait, cost, now, ends_at, limit, own_window, own_unit) or wait
end

-- Returns: the two windows that apply now (start, current, previous, window): the rule's own, or longer ones that are
-- still in use; and until when those apply, 0, or CONVERTED.
local function read(key, now, own_window)
  local stored, reached = get(key), now - now % own_window
  if not stored then return reached, 0, 0, own_window, 0 end
  -- The most frequent form first: a pattern with optional parts takes longer.
  local start, current, previous, window, ends_at = string.match(stored, '^(%d+) (%d+) (%d+) (%d+)$')
  if not start then
    start, current, previous, window, ends_at = string.match(stored, '^(%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
    if not start then return reached, 0, 0, own_window, 0 end
  end
  start, current, window = tonumber(start), tonumber(current), tonumber(window) or own_window
  if window ~= own_window then
    s_start, s_current, s_previous, s_window, s_until = start, current, tonumber(previous), window, tonumber(ends_at)
    return read_other(now, own_window)
  end
  if start >= reached then return start, current, tonumber(previous), window, 0 end
  return reached, 0, start == reached - window and current or 0, window, 0
end

-- Returns: how long until the full limit is available: until a request of that cost would be allowed.
local function full_after(now, start, current, previous, window, unit, ends_at, limit, own_window, own_unit)
  if current + previous == 0 then return 0 end
  return math.max(0, retry_after(limit, now, start, current, previous, window, unit, ends_at, limit, own_window, own_unit))
end

local function write(start, current, previous, window, ends_at)
  local state = string.format(FOUR_INTEGERS, start, current, previous, window)
  return ends_at > 0 and state .. ' ' .. string.format(INTEGER, ends_at) or state
end

local function step(key, now, cost, max_wait, _, limit, own_window, unit)
  if limit == 0 then return false, 0, -1, 0 end

  local start, current, previous, window, ends_at = read(key, now, own_window)
  local own_unit = unit
  if window ~= own_window then unit = math.max(1, math.ceil(limit * window / LARGEST)) end
  local ends_after = start + window - now
  local left = math.min(window, ends_after)
  local weighted = weigh(previous, left, window, unit)
  local remaining = math.max(0, limit - current - weighted)

  if cost > remaining and max_wait < math.huge then
    local wait = retry_after(cost, now, start, current, previous, window, unit, ends_at, limit, own_window, own_unit)
    local reset_after = full_after(now, start, current, previous, window, unit, ends_at, limit, own_window, own_unit)
    return false, remaining, wait, reset_after
  end

  if cost > 0 then
    current = math.min(LONGEST, current + cost)
    s_start, s_current, s_previous, s_window, ends_at = start, current, previous, window, math.max(0, ends_at)
  end
  local reset_after = full_after(now, start, current, previous, window, unit, ends_at, limit, own_window, own_unit)
  local state = write(start, current, previous, window, ends_at)
  return true, math.max(0, remaining - cost), 0, reset_after, state, ends_after + window
end

-- The receipt is in the window after that of the charge, or its end. The charge is refunded as long as that counts.
local function refund(key, now, cost, receipt, only_last, limit, own_window, unit)
  local start, current, previous, window, ends_at = read(key, now, own_window)
  if only_last then return nil end
  if window ~= own_window then unit = math.max(1, math.ceil(limit * window / LARGEST)) end
  local left = math.min(window, start + window - now)
  local age = math.ceil((receipt - start) / window)
  if age == 2 and current > 0 then
    current = math.max(0, current - cost)
  elseif age == 1 and weigh(previous, left, window, unit) > 0 then
    previous = math.max(0, previous - cost)
  else
    return nil
  end
  return write(start, current, previous, window, ends_at), start + 2 * window - now
end

return { step = step, refund = refund }
