-- Sliding window counter: two counters on the clock's grid; the previous window's count weighs as
-- much as of it still lies within the sliding window.
--
-- KEYS  the rule's key: a string, `start current previous` (microseconds, permits, permits)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), unit (microseconds in which what is left of a window
--       is counted, so that no product leaves the integers that a double holds)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after

-- Returns: the two windows as they are now (start, current, previous).
local function read(key, now, window)
  local start = now - now % window
  local stored = get(key)
  if not stored then return start, 0, 0 end
  local s_start, current, previous = string.match(stored, '^(%d+) (%d+) (%d+)$')
  s_start = tonumber(s_start)
  if s_start and s_start >= start then return s_start, tonumber(current), tonumber(previous) end
  if s_start == start - window then return start, 0, tonumber(current) end
  return start, 0, 0
end

local function write(start, current, previous)
  return string.format(THREE_INTEGERS, start, current, previous)
end

-- Returns: how much `count` permits of the previous window weigh while so much time is left of it, rounded down.
local function weigh(count, left, window, unit)
  return math.floor(count * math.ceil(left / unit) / math.ceil(window / unit))
end

-- Returns: the longest time before the window's end at which `count` permits weigh at most `room`.
local function left_when(count, room, window, unit)
  return (math.ceil((room + 1) * math.ceil(window / unit) / count) - 1) * unit
end

local function step(key, now, cost, patience, _, limit, window, unit)
  if limit == 0 then return false, 0, -1, 0 end

  local start, current, previous = read(key, now, window)
  local ends_after = start + window - now
  local left = math.min(window, ends_after)
  local weighted = weigh(previous, left, window, unit)
  local remaining = math.max(0, limit - current - weighted)
  local reset_after = previous > 0 and ends_after or 0
  if current > 0 then reset_after = ends_after + window end

  if cost > remaining and patience < math.huge then
    local retry_after = -1
    if cost <= limit - current then
      retry_after = ends_after - left_when(previous, limit - current - cost, window, unit)
    elseif cost <= limit then
      retry_after = ends_after + window - left_when(current, limit - cost, window, unit)
    end
    return false, remaining, retry_after, reset_after
  end

  if cost > 0 then reset_after = ends_after + window end
  local state = write(start, current + cost, previous)
  return true, math.max(0, remaining - cost), 0, reset_after, state, ends_after + window
end

-- The window of a charge ends a window before the charge is gone.
local function refund(key, now, cost, receipt, only_last, limit, window)
  local start, current, previous = read(key, now, window)
  if only_last or receipt <= now then return nil end
  if receipt == start + 2 * window and current > 0 then
    current = math.max(0, current - cost)
  elseif receipt == start + window and previous > 0 then
    previous = math.max(0, previous - cost)
  else
    return nil
  end
  return write(start, current, previous), start + 2 * window - now
end

return { step = step, refund = refund }
