-- Sliding window counter: two counters on the clock's grid; the previous window's count weighs as
-- much as of it still lies within the sliding window.
--
-- KEYS  the rule's key: a string, `start current previous` (microseconds, permits, permits)
-- ARGV  now (microseconds), cost (permits), limit (permits), window (microseconds)
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after

-- Returns: the longest time before the window's end at which `count` permits weigh at most `room`.
local function left_when(count, room, window)
  local left = math.floor(room * window / count)
  if math.ceil(count * left / window) > room then return left - 1 end
  if math.ceil(count * (left + 1) / window) <= room then return left + 1 end
  return left
end

local function step(key, now, cost, limit, window)
  if limit == 0 then return false, 0, -1, 0 end

  local start, current, previous = now - now % window, 0, 0
  local stored = redis.call('GET', key)
  if stored then
    local s_start, s_current, s_previous = string.match(stored, '^(%d+) (%d+) (%d+)$')
    s_start = tonumber(s_start)
    if s_start and s_start >= start then
      start, current, previous = s_start, tonumber(s_current), tonumber(s_previous)
    elseif s_start == start - window then
      previous = tonumber(s_current)
    end
  end

  local ends_after = start + window - now
  local left = math.min(window, ends_after)
  local weighted = math.ceil(previous * left / window)
  local remaining = math.max(0, limit - current - weighted)
  local reset_after = previous > 0 and ends_after or 0
  if current > 0 then reset_after = ends_after + window end

  if cost > remaining then
    local retry_after = -1
    if cost <= limit - current then
      retry_after = ends_after - left_when(previous, limit - current - cost, window)
    elseif cost <= limit then
      retry_after = ends_after + window - left_when(current, limit - cost, window)
    end
    return false, remaining, retry_after, reset_after
  end

  current = current + cost
  if cost > 0 then reset_after = ends_after + window end
  local state = string.format('%.0f %.0f %.0f', start, current, previous)
  return true, remaining - cost, 0, reset_after, state, ends_after + window
end

return { step = step }
