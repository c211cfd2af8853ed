-- Leaky bucket: a queue that lets permits out one by one at the rate, and tells each hit how long
-- to wait for its turn.
--
-- KEYS  the rule's key: a backlog, the queue, which is empty at its instant
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), capacity (the most permits that fit),
--       longest and longest_part (the longest queue that a permit may join: microseconds, part),
--       undelayed and undelayed_part (the longest that does not hold it back: microseconds, part)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after
-- Needs  rate.lua, backlog.lua

-- Returns: a span less another, in whole microseconds rounded up; at least 0.
local function beyond(whole, part, less, less_part)
  return math.max(0, part > less_part and whole - less + 1 or whole - less)
end

local function step(key, now, cost, patience, _, limit, window, capacity, longest, longest_part, undelayed, undelayed_part)
  if limit == 0 then return false, 0, -1, 0 end

  local queue, part = read(key, now, limit)
  local room, room_part = longest - queue, longest_part - part
  if room_part < 0 then room, room_part = room - 1, room_part + limit end
  local remaining = room < 0 and 0 or permits_in(room, room_part, limit, window) + 1
  local delay = cost > 0 and beyond(queue, part, undelayed, undelayed_part) or 0

  local is_full = cost > remaining and (cost > capacity or patience == 0)
  if patience < math.huge and (is_full or (patience > 0 and delay > patience)) then
    local need, need_part = span_of(math.max(0, cost - 1), limit, window)
    local wait = patience > 0 and delay - patience or beyond(need, need_part, room, room_part)
    if cost > capacity then wait = -1 end
    return false, remaining, wait, beyond(queue, part, 0, 0)
  end

  local taken, taken_part = span_of(cost, limit, window)
  queue, part = queue + taken, part + taken_part
  if part >= limit then queue, part = queue + 1, part - limit end
  local state, expires_after = write(now, queue, part)
  return true, math.max(0, remaining - cost), delay, expires_after, state, expires_after
end

-- A place is given back only while nobody waits behind it: who does has been told when to go.
local function refund(key, now, cost, receipt, _, limit, window)
  if limit == 0 then return nil end
  local queue, part = read(key, now, limit)
  if now + beyond(queue, part, 0, 0) ~= receipt or receipt <= now then return nil end

  local back, back_part = span_of(cost, limit, window)
  queue, part = queue - back, part - back_part
  if part < 0 then queue, part = queue - 1, part + limit end
  if queue < 0 then queue, part = 0, 0 end
  return write(now, queue, part)
end

return { step = step, refund = refund }
