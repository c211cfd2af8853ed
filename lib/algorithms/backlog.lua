-- A backlog: a state of one instant, at which all permits are available again.
--
-- KEYS  a string, `instant`, `instant:part/limit`, and either of them with `@written`:
--       instant     microseconds since the epoch
--       part/limit  a fraction of the instant, in units of 1/limit microsecond
--       written     when the state was written (microseconds since the epoch); absent if the instant is at most `time`
--                   ahead of it, which is enough to recognise that the clock was set back
--
-- A rule's `time` is how far its instant is ahead of now if the whole capacity is used (microseconds).
--
-- @needs rate

-- Returns: instant, part, limit of the part, written (nil without it) of a state that is not one integer.
local function parse_backlog(key, stored, window)
  local s_instant, fraction, s_written = string.match(stored, '^(%d+)([:/%d]*)@?(%d*)$')
  local s_part, s_limit = string.match(fraction or '', '^:(%d+)/(%d+)$')
  if not s_instant or (fraction ~= '' and not s_part) then fail_unrecognised(key, window) end
  return tonumber(s_instant), tonumber(s_part or 0), tonumber(s_limit or 1), tonumber(s_written)
end

-- Returns: the time until the instant (microseconds, part); 0 if it has passed. A fraction of another limit is rounded up.
local function read_backlog(key, now, limit, window, time)
  local stored = get(key)
  if not stored then return 0, 0 end
  local instant, part, part_limit, written = tonumber(stored), 0, limit, nil
  if not instant or not (instant >= 0 and instant % 1 == 0) then
    instant, part, part_limit, written = parse_backlog(key, stored, window)
  end
  local ahead = instant - now
  if written then ahead = ahead - set_back(written) end
  if ahead < 0 then
    check_instant(instant)
    return 0, 0
  end
  if not written and ahead > time + SLACK then
    if time < 0 then fail_unrecognised(key, window) end
    -- The clock was set back by an unknown length: the whole capacity counts as used.
    has_moved = true
    return time, 0
  end
  if part == 0 or part_limit == limit then return ahead, part end
  return ahead + 1, 0
end

-- Returns: the state for an instant that is ahead of now, and when it expires.
local function write_backlog(now, ahead, part, limit, time)
  local state = string.format(INTEGER, now + ahead)
  if part > 0 then state = state .. ':' .. string.format(INTEGER, part) .. '/' .. string.format(INTEGER, limit) end
  if ahead > time then state = state .. '@' .. string.format(INTEGER, now) end
  return state, part > 0 and ahead + 1 or ahead
end

-- Decides a request at a rate with a burst: it is allowed if the instant is then at most a burst ahead of now.
-- Returns: the same as `step` of an algorithm.
local function take_backlog(now, ahead, part, cost, max_wait, limit, window, burst, full, full_part, time, overdraft)
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
    local is_never = cost > burst and not overdraws
    if max_wait < math.huge and (is_never or wait > max_wait) then
      return false, remaining, is_never and -1 or wait - max_wait, part > 0 and ahead + 1 or ahead
    end
  end

  ahead, part = ahead + need, part + need_part
  if part >= limit then ahead, part = ahead + 1, part - limit end
  if ahead >= LONGEST then ahead, part = LONGEST, 0 end
  local state, expires_after = write_backlog(now, ahead, part, limit, time)
  return true, cost < remaining and remaining - cost or 0, wait, expires_after, state, expires_after
end

-- Decides a request on a state, without parts if it is allowed at once at a rate of whole microseconds, as most are.
-- Returns: the same as `step` of an algorithm.
local function take_from(key, now, cost, max_wait, limit, window, burst, full, full_part, time, overdraft)
  if window % limit == 0 then
    local instant = tonumber(get(key) or now)
    if instant and instant >= now and instant % 1 == 0 then
      local interval = window / limit
      local ahead = instant - now + cost * interval
      if ahead <= full and ahead <= time then
        local free = full - ahead
        return true, (free - free % interval) / interval, 0, ahead, string.format(INTEGER, now + ahead), ahead
      end
    end
  end
  local ahead, part = read_backlog(key, now, limit, window, time)
  return take_backlog(now, ahead, part, cost, max_wait, limit, window, burst, full, full_part, time, overdraft)
end

-- Returns: the state after a refund, and when it expires; nil if there was no charge. A charge expires gradually until
-- the instant that it set, even if later charges have moved that: at most the rest of the charge is refunded.
local function refund_backlog(now, ahead, part, cost, receipt, only_last, limit, window, time)
  local ends_at = now + (part > 0 and ahead + 1 or ahead)
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  local back, back_part = span_of(cost, limit, window)
  local left = receipt - now - (window % limit == 0 and 0 or 1)
  if ends_at ~= receipt and back > left then back, back_part = left, 0 end
  ahead, part = ahead - back, part - back_part
  if part < 0 then ahead, part = ahead - 1, part + limit end
  if ahead < 0 then ahead, part = 0, 0 end
  return write_backlog(now, ahead, part, limit, time)
end
