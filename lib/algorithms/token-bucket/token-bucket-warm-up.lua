-- Token bucket with a warm-up: allows permits at the rate, and up to three times as slowly while it is cold, as Guava's
-- SmoothWarmingUp. A request proceeds at once if the bucket is idle, and the next request waits for the time that this
-- one takes.
--
-- KEYS  the rule's key: a string, `next_free part stored` (the instant at which the next request may proceed:
--       microseconds since the epoch, and a fraction in units of 1/limit microsecond; how cold the bucket is at that
--       instant: from 0 (warm) to warm_up (cold), microseconds)
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), warm_up (microseconds)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate

-- Returns: the state at the current time (next_free, part, stored), and the time until the next request may proceed.
local function read(key, now, limit, warm_up)
  local state = get(key)
  local next_free, part, stored = string.match(state or '', '^(%d+) (%d+) (%d+)$')
  if not next_free then return now, 0, warm_up, 0 end
  next_free, part = tonumber(next_free), math.min(tonumber(part), limit - 1)
  stored = math.min(tonumber(stored), warm_up)

  local busy = next_free - now + (part > 0 and 1 or 0)
  if busy > 0 then return next_free, part, stored, busy end
  return now, 0, math.min(warm_up, stored - busy), 0
end

-- Returns: how much longer than at the full rate a request takes that uses up `spent` of `stored`: the integral of the
-- time per permit above that of the full rate, which rises linearly over the upper half of `stored`.
local function surcharge_of(stored, spent, warm_up)
  local above = math.max(0, stored - warm_up / 2)
  local used = math.min(above, spent)
  return math.ceil(2 * used * (2 * above - used) / warm_up)
end

-- Returns: the state, and the time until it is as cold as a fresh key.
local function write(now, next_free, part, stored, warm_up)
  local busy = next_free - now + (part > 0 and 1 or 0)
  return string.format(THREE_INTEGERS, next_free, part, stored), busy + warm_up - stored
end

local function step(key, now, cost, max_wait, _, limit, window, warm_up)
  if limit == 0 then return false, 0, -1, 0 end

  local next_free, part, stored, busy = read(key, now, limit, warm_up)
  local remaining = busy == 0 and limit or 0
  if cost == 0 then
    return true, remaining, 0, busy, write(now, next_free, part, stored, warm_up)
  end
  if max_wait < math.huge and (cost > limit or busy > max_wait) then
    return false, remaining, cost > limit and -1 or busy - max_wait, busy
  end

  local taken, taken_part = span_of(cost, limit, window)
  local spent = math.min(stored, taken_part > 0 and taken + 1 or taken)
  next_free, part = next_free + taken + surcharge_of(stored, spent, warm_up), part + taken_part
  if part >= limit then next_free, part = next_free + 1, part - limit end
  if next_free - now >= LONGEST then next_free, part = now + LONGEST, 0 end
  local reset_after = next_free - now + (part > 0 and 1 or 0)
  return true, 0, busy, reset_after, write(now, next_free, part, stored - spent, warm_up)
end

-- Refunds only the last charge: the delays of later requests have been returned already. The part of `stored` that was
-- used up, and the additional time for it, are not refunded.
local function refund(key, now, cost, receipt, _, limit, window, warm_up)
  if limit == 0 then return nil end
  local next_free, part, stored, busy = read(key, now, limit, warm_up)
  if now + busy ~= receipt or receipt <= now then return nil end

  local back, back_part = span_of(cost, limit, window)
  next_free, part = next_free - back, part - back_part
  if part < 0 then next_free, part = next_free - 1, part + limit end
  if next_free < now then next_free, part = now, 0 end
  return write(now, next_free, part, stored, warm_up)
end

return { step = step, refund = refund }
