-- GCRA: stores one theoretical arrival time (TAT) per key, and allows a request unless it would move the TAT more than
-- the time of a burst ahead of now.
--
-- KEYS  the rule's key: a backlog, whose instant is the TAT
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), full and full_part (the time in which a burst becomes
--       available: microseconds, part), overdraft (1: a waiting request may cost more than the burst)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate, backlog

local function step(key, now, cost, max_wait, _, own_limit, own_window, burst, own_full, own_full_part, overdraft)
  if own_limit == 0 then return false, 0, -1, 0 end

  local ahead, part, limit, window, slow_for = read_backlog(key, now, own_limit, own_window)
  local full, full_part = own_full, own_full_part
  if slow_for > 0 then full, full_part = span_of(burst, limit, window) end
  local free, free_part = full - ahead, full_part - part
  if free_part < 0 then free, free_part = free - 1, free_part + limit end
  local remaining = permits_in(free, free_part, limit, window)
  local need, need_part = span_of(cost, limit, window)

  local wait = 0
  if cost > remaining then
    local overdraws = cost > burst and overdraft == 1 and max_wait > 0 and need < LONGEST / 2
    local due, due_part = need, need_part
    if overdraws then due, due_part = full, full_part end
    wait = due - free
    if due_part > free_part then wait = wait + 1 end
    if slow_for > 0 and wait >= slow_for then
      local own_need, own_need_part = span_of(overdraws and burst or cost, own_limit, own_window)
      local most, most_part = own_full - own_need, own_full_part - own_need_part
      if most_part < 0 then most, most_part = most - 1, most_part + own_limit end
      wait = backlog_wait(ahead, part, limit, window, slow_for, own_limit, own_window, most, most_part)
    end
    local is_never = cost > burst and not overdraws
    if max_wait < math.huge and (is_never or wait > max_wait) then
      local retry_after = is_never and -1 or wait - max_wait
      local reset_after = part > 0 and ahead + 1 or ahead
      if slow_for > 0 then reset_after = backlog_length(ahead, part, limit, window, slow_for, own_limit, own_window) end
      return false, remaining, retry_after, reset_after
    end
  end

  ahead, part = ahead + need, part + need_part
  if part >= limit then ahead, part = ahead + 1, part - limit end
  if ahead >= LONGEST then ahead, part = LONGEST, 0 end
  local state, expires_after = write_backlog(now, ahead, part, limit, window, slow_for)
  local reset_after = expires_after
  if slow_for > 0 then reset_after = backlog_length(ahead, part, limit, window, slow_for, own_limit, own_window) end
  return true, math.max(0, remaining - cost), wait, reset_after, state, expires_after
end

-- A charge expires gradually until the TAT that it set, even if later charges have moved the TAT: at most the rest of
-- the charge is refunded.
local function refund(key, now, cost, receipt, only_last, own_limit, own_window)
  if own_limit == 0 then return nil end
  local ahead, part, limit, window, slow_for = read_backlog(key, now, own_limit, own_window)
  local ends_at = now + (slow_for > 0 and backlog_length(ahead, part, limit, window, slow_for, own_limit, own_window) or (part > 0 and ahead + 1 or ahead))
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  local back, back_part = span_of(cost, limit, window)
  local left = receipt - now - (window % limit == 0 and 0 or 1)
  if ends_at ~= receipt and back > left then back, back_part = left, 0 end
  ahead, part = ahead - back, part - back_part
  if part < 0 then ahead, part = ahead - 1, part + limit end
  if ahead < 0 then ahead, part = 0, 0 end
  return write_backlog(now, ahead, part, limit, window, slow_for)
end

return { step = step, refund = refund }
