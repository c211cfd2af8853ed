-- Token bucket with a warm-up: allows permits at the rate, and up to three times as slowly while it is cold, as Guava's
-- SmoothWarmingUp. A request proceeds at once if the bucket is idle, and the next request waits for the time that this
-- one takes.
--
-- KEYS  the rule's key: a string, `written busy stored` or `written busy stored part/limit`:
--       written     when the state was written (microseconds since the epoch)
--       busy        how long after that the next request may proceed (microseconds)
--       stored      how cold the bucket is then: from 0 (warm) to warm_up (cold), microseconds
--       part/limit  a fraction of `busy`, in units of 1/limit microsecond
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), warm_up (microseconds)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate

-- Returns: the fields of a state: written, busy, stored, part, limit of the part.
local function parse(key, state, warm_up)
  local s_written, s_busy, s_stored, fraction = string.match(state, '^(%d+) (%-?%d+) (%d+)([ /%d]*)$')
  local s_part, s_limit = string.match(fraction or '', '^ (%d+)/(%d+)$')
  local stored = tonumber(s_stored)
  if not stored or stored > warm_up or (fraction ~= '' and not s_part) then fail_unrecognised(key, warm_up) end
  return tonumber(s_written), tonumber(s_busy), stored, tonumber(s_part or 0), tonumber(s_limit)
end

-- Returns: the state at the current time (next_free: since the epoch, part, stored), the time until the next request may
-- proceed, and the instant that the next state is written at. A fraction of another limit is rounded up.
local function read(key, now, limit, warm_up)
  local state = get(key)
  if not state then return now, 0, warm_up, 0, now end
  local written, busy, stored, part, part_limit = parse(key, state, warm_up)
  written = written - set_back(written)
  local next_free = written + busy
  written = math.max(now, written)
  if part > 0 and part_limit ~= limit then next_free, part = next_free + 1, 0 end

  busy = next_free - now + (part > 0 and 1 or 0)
  if busy > 0 then return next_free, part, stored, busy, written end
  return now, 0, math.min(warm_up, stored - busy), 0, written
end

-- Returns: how much longer than at the full rate a request takes that uses up `spent` of `stored`: the integral of the
-- time per permit above that of the full rate, which rises linearly over the upper half of `stored`.
local function surcharge_of(stored, spent, warm_up)
  local above = math.max(0, stored - warm_up / 2)
  local used = math.min(above, spent)
  return math.ceil(2 * used * (2 * above - used) / warm_up)
end

-- Returns: the state, and the time until it is as cold as a fresh key.
local function write(now, next_free, part, stored, written, limit, warm_up)
  local state = string.format(THREE_INTEGERS, written, next_free - written, stored)
  if part > 0 then state = state .. ' ' .. string.format(INTEGER, part) .. '/' .. string.format(INTEGER, limit) end
  return state, next_free - now + (part > 0 and 1 or 0) + warm_up - stored
end

local function step(key, now, cost, max_wait, _, limit, window, warm_up)
  if limit == 0 then return false, 0, -1, 0 end

  local next_free, part, stored, busy, written = read(key, now, limit, warm_up)
  local remaining = busy == 0 and limit or 0
  if cost == 0 then
    return true, remaining, 0, busy, write(now, next_free, part, stored, written, limit, warm_up)
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
  return true, 0, busy, reset_after, write(now, next_free, part, stored - spent, written, limit, warm_up)
end

-- Refunds only the last charge: the delays of later requests have been returned already. The part of `stored` that was
-- used up, and the additional time for it, are not refunded.
local function refund(key, now, cost, receipt, _, limit, window, warm_up)
  if limit == 0 then return nil end
  local next_free, part, stored, busy, written = read(key, now, limit, warm_up)
  if now + busy ~= receipt or receipt <= now then return nil end

  local back, back_part = span_of(cost, limit, window)
  next_free, part = next_free - back, part - back_part
  if part < 0 then next_free, part = next_free - 1, part + limit end
  if next_free < now then next_free, part = now, 0 end
  return write(now, next_free, part, stored, written, limit, warm_up)
end

return { step = step, refund = refund }
