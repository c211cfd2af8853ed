-- GCRA: holds one theoretical arrival time (TAT) a key, and admits a hit unless it comes more
-- than a burst ahead of it.
--
-- KEYS  the rule's key: a string, `tat` or `tat part` (microseconds; part in 1/limit of one)
-- ARGV  now (microseconds), cost (permits), limit (permits), window (microseconds), burst (permits)
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after

local function step(key, now, cost, limit, window, burst)
  if limit == 0 then return false, 0, -1, 0 end

  local ahead, ahead_part = 0, 0
  local stored = redis.call('GET', key)
  if stored then
    local tat, part = tonumber(stored), 0
    if not tat then
      tat, part = string.match(stored, '^(%d+) (%d+)$')
      tat, part = tonumber(tat) or now, math.min(tonumber(part) or 0, limit - 1)
    end
    if tat >= now then ahead, ahead_part = tat - now, part end
  end

  local capacity, capacity_part = span_of(burst, limit, window)
  local free, free_part = capacity - ahead, capacity_part - ahead_part
  if free_part < 0 then free, free_part = free - 1, free_part + limit end
  local remaining = permits_in(free, free_part, limit, window)
  local need, need_part = span_of(cost, limit, window)

  if cost > remaining then
    local retry_after = need - free
    if need_part > free_part then retry_after = retry_after + 1 end
    if cost > burst then retry_after = -1 end
    if ahead_part > 0 then ahead = ahead + 1 end
    return false, remaining, retry_after, ahead
  end

  ahead, ahead_part = ahead + need, ahead_part + need_part
  if ahead_part >= limit then ahead, ahead_part = ahead + 1, ahead_part - limit end
  local state = string.format('%.0f', now + ahead)
  local reset_after = ahead
  if ahead_part > 0 then
    state = state .. string.format(' %.0f', ahead_part)
    reset_after = ahead + 1
  end
  return true, remaining - cost, 0, reset_after, state, reset_after
end

return { step = step }
