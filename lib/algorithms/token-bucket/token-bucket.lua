-- Token bucket: holds up to `burst` tokens. A request takes `cost` of them; `limit` tokens are added per window, one by
-- one and evenly.
--
-- KEYS  the rule's key: a backlog, whose instant is when the bucket is full
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), full and full_part (the time in which a burst becomes
--       available: microseconds, part), time (see backlog.lua), overdraft (1: a waiting request may cost more than the
--       burst), empty and empty_part (the time in which a new bucket becomes full: microseconds, part)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate, backlog

-- How long a full bucket is kept if a new one would not be full (microseconds).
local MEMORY = 86400000000

-- Returns: the same as `step` for a rule whose new buckets are not full.
local function step_of_part(key, now, cost, max_wait, limit, window, burst, full, full_part, time, overdraft, empty, empty_part)
  local ahead, part = read_backlog(key, now, limit, window, time)
  local stored = get(key)
  local is_new = true
  if stored then
    local full_at = tonumber(string.match(stored, '^%d+'))
    if string.find(stored, ':', 1, true) then full_at = full_at + 1 end
    is_new = full_at + MEMORY <= now
  end
  if is_new then ahead, part = empty, empty_part end
  local allowed, remaining, wait, reset_after, state, expires_after =
    take_backlog(now, ahead, part, cost, max_wait, limit, window, burst, full, full_part, time, overdraft)
  if allowed then return true, remaining, wait, reset_after, state, expires_after + MEMORY end
  -- A denial stores nothing, so that a new bucket gains no tokens.
  return false, remaining, is_new and -1 or wait, reset_after
end

local function step(key, now, cost, max_wait, _, limit, window, burst, full, full_part, time, overdraft, empty, empty_part)
  if limit == 0 then return false, 0, -1, 0 end
  if empty + empty_part > 0 then
    return step_of_part(key, now, cost, max_wait, limit, window, burst, full, full_part, time, overdraft, empty, empty_part)
  end
  return take_from(key, now, cost, max_wait, limit, window, burst, full, full_part, time, overdraft)
end

local function refund(key, now, cost, receipt, only_last, limit, window, _, _, _, time, _, empty, empty_part)
  if limit == 0 then return nil end
  local ahead, part = read_backlog(key, now, limit, window, time)
  local state, expires_after = refund_backlog(now, ahead, part, cost, receipt, only_last, limit, window, time)
  if state and empty + empty_part > 0 then expires_after = expires_after + MEMORY end
  return state, expires_after
end

return { step = step, refund = refund }
