-- Fixed window: counts permits in a window that starts at the first hit, or on the clock's grid,
-- and starts again from zero when it ends.
--
-- KEYS  the rule's key: a string, `count start` (permits, microseconds)
-- ARGV  now (microseconds), cost (permits), limit (permits), window (microseconds),
--       aligned (1: windows start at multiples of the window since the epoch; 0: at the first hit)
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after

local function step(key, now, cost, limit, window, aligned)
  local count, start = 0, aligned == 1 and now - now % window or now
  local stored = redis.call('GET', key)
  if stored then
    local s_count, s_start = string.match(stored, '^(%d+) (%d+)$')
    s_start = tonumber(s_start)
    if s_start and (aligned == 1 and s_start >= start or aligned == 0 and now < s_start + window) then
      count, start = tonumber(s_count), s_start
    end
  end

  local left = start + window - now
  if count + cost > limit and cost > 0 or limit == 0 then
    local retry_after = cost > limit and -1 or left
    if limit == 0 then retry_after = -1 end
    return false, math.max(0, limit - count), retry_after, count > 0 and left or 0
  end

  count = count + cost
  local reset_after = count > 0 and left or 0
  return true, math.max(0, limit - count), 0, reset_after, string.format('%.0f %.0f', count, start), left
end

return { step = step }
