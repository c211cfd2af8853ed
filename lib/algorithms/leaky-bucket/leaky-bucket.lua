-- Leaky bucket: a queue from which requests proceed one by one at the rate; returns for each how long to wait for its
-- turn.
--
-- KEYS  the rule's key: a backlog, whose instant is when the queue is empty
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), capacity (maximum number of permits in the queue),
--       longest and longest_part (the longest queue that a permit may join: microseconds, part),
--       delay_after and delay_after_part (the longest queue that does not delay a permit: microseconds, part),
--       time (-1: every state has the instant at which it was written, see backlog.lua)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate, backlog

-- Returns: the difference of two spans in whole microseconds, rounded up; at least 0.
local function beyond(whole, part, less, less_part)
  return math.max(0, part > less_part and whole - less + 1 or whole - less)
end

local function step(key, now, cost, max_wait, _, limit, window, capacity, longest, longest_part, delay_after, delay_after_part, time)
  if limit == 0 then return false, 0, -1, 0 end

  local queue, part = read_backlog(key, now, limit, window, time)
  local room, room_part = longest - queue, longest_part - part
  if room_part < 0 then room, room_part = room - 1, room_part + limit end
  local remaining = room < 0 and 0 or permits_in(room, room_part, limit, window) + 1
  local delay = cost > 0 and beyond(queue, part, delay_after, delay_after_part) or 0

  local is_full = cost > remaining and (cost > capacity or max_wait == 0)
  if max_wait < math.huge and (is_full or (max_wait > 0 and delay > max_wait)) then
    local retry_after = -1
    if cost <= capacity and max_wait > 0 then
      retry_after = delay - max_wait
    elseif cost <= capacity then
      local need, need_part = span_of(math.max(0, cost - 1), limit, window)
      retry_after = beyond(need, need_part, room, room_part)
    end
    return false, remaining, retry_after, part > 0 and queue + 1 or queue
  end

  local taken, taken_part = span_of(cost, limit, window)
  queue, part = queue + taken, part + taken_part
  if part >= limit then queue, part = queue + 1, part - limit end
  if queue >= LONGEST then queue, part = LONGEST, 0 end
  local state, expires_after = write_backlog(now, queue, part, limit, time)
  return true, math.max(0, remaining - cost), delay, expires_after, state, expires_after
end

-- Refunds only the last charge in the queue: the delays of later requests have been returned already.
local function refund(key, now, cost, receipt, _, limit, window, _, _, _, _, _, time)
  if limit == 0 then return nil end
  local queue, part = read_backlog(key, now, limit, window, time)
  return refund_backlog(now, queue, part, cost, receipt, true, limit, window, time)
end

return { step = step, refund = refund }
