-- Sliding window counter: two counters of windows that are aligned to the clock. The count of the previous window is
-- weighted by the part of it that the sliding window still covers.
--
-- KEYS  the rule's key: a string, `written current previous`:
--       written            when it was written (microseconds since the epoch): an instant of the current window
--       current, previous  permits taken in the current and in the previous window
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), unit (microseconds: the unit in which time is measured, so that no
--       product exceeds the exact integers of a double)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

-- The maximum count of a window.
local LONGEST = 2 ^ 51

-- Returns: how many of `count` permits still count while the sliding window covers `left` of theirs, rounded down.
local function weigh(count, left, window, unit)
  return math.floor(count * math.ceil(left / unit) / math.ceil(window / unit))
end

-- Returns: the windows that apply now (written, current, previous), the start of the current one, and whether they were
-- moved since the clock was set back.
local function read(key, now, window, unit)
  local stored, reached = get(key), now - now % window
  if not stored then return now, 0, 0, reached end
  local written, current, previous = string.match(stored, '^(%d+) (%d+) (%d+)$')
  if not written then fail_unrecognised(key, window) end
  written, current, previous = tonumber(written), tonumber(current), tonumber(previous)
  local start = written - written % window
  if set_back(written) > 0 then
    current = math.min(LONGEST, current + weigh(previous, start + window - written, window, unit))
    return now, current, 0, reached, true
  end
  if start >= reached then return math.max(now, written), current, previous, start end
  return now, 0, start == reached - window and current or 0, reached
end

-- Returns: how long until a request would be allowed that is denied now; -1 if it never would be.
local function retry_after(cost, now, current, previous, start, limit, window, unit)
  if cost > limit then return -1 end
  local ends_at, count, room = start + window, previous, limit - current - cost
  if room < 0 then ends_at, count, room = ends_at + window, current, limit - cost end
  -- Subtracts the longest time before the end at which `weigh` returns at most the room.
  return ends_at - now - (math.ceil((room + 1) * math.ceil(window / unit) / count) - 1) * unit
end

-- Returns: how long until the full limit is available: until a request of that cost would be allowed.
local function full_after(now, current, previous, start, limit, window, unit)
  if current + previous == 0 then return 0 end
  return math.max(0, retry_after(limit, now, current, previous, start, limit, window, unit))
end

local function step(key, now, cost, max_wait, _, limit, window, unit)
  if limit == 0 then return false, 0, -1, 0 end

  local written, current, previous, start = read(key, now, window, unit)
  local ends_after = start + window - now
  local weighted = weigh(previous, math.min(window, ends_after), window, unit)
  local remaining = math.max(0, limit - current - weighted)

  if cost > remaining and max_wait < math.huge then
    local wait = retry_after(cost, now, current, previous, start, limit, window, unit)
    return false, remaining, wait, full_after(now, current, previous, start, limit, window, unit)
  end

  current = math.min(LONGEST, current + cost)
  local reset_after = full_after(now, current, previous, start, limit, window, unit)
  local state = string.format(THREE_INTEGERS, written, current, previous)
  return true, math.max(0, remaining - cost), 0, reset_after, state, ends_after + window
end

-- The receipt is in the window after that of the charge, or its end. The charge is refunded as long as that counts.
local function refund(key, now, cost, receipt, only_last, _, window, unit)
  local written, current, previous, start, is_moved = read(key, now, window, unit)
  if only_last or is_moved then return nil end
  local left = math.min(window, start + window - now)
  local age = math.ceil((receipt - start) / window)
  if age == 2 and current > 0 then
    current = math.max(0, current - cost)
  elseif age == 1 and weigh(previous, left, window, unit) > 0 then
    previous = math.max(0, previous - cost)
  else
    return nil
  end
  return string.format(THREE_INTEGERS, written, current, previous), start + 2 * window - now
end

return { step = step, refund = refund }
