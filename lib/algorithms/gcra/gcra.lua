-- GCRA: stores one theoretical arrival time (TAT) per key, and allows a request unless it would move the TAT more than
-- the time of a burst ahead of now.
--
-- KEYS  the rule's key: a backlog, whose instant is the TAT
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), full and full_part (the time in which a burst becomes
--       available: microseconds, part), time (see backlog.lua), overdraft (1: a waiting request may cost more than the
--       burst)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate, backlog

local function step(key, now, cost, max_wait, _, limit, window, burst, full, full_part, time, overdraft)
  if limit == 0 then return false, 0, -1, 0 end
  return take_from(key, now, cost, max_wait, limit, window, burst, full, full_part, time, overdraft)
end

local function refund(key, now, cost, receipt, only_last, limit, window, _, _, _, time)
  if limit == 0 then return nil end
  local ahead, part = read_backlog(key, now, limit, window, time)
  return refund_backlog(now, ahead, part, cost, receipt, only_last, limit, window, time)
end

return { step = step, refund = refund }
