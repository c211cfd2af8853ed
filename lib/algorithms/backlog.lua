-- A backlog: a state that is one instant, by which all that has been taken is made up for, and the rate at
-- which it was counted, see docs/adr/0029-changed-rates.md.
--
-- KEYS  a string, `instant part:window/limit until` (microseconds; part in 1/limit of one; until when a rule
--       with a faster rate goes by this one). Without ` part` it is 0, without `/limit` 1, without ` until` the
--       rate counts as long as the backlog lasts, without a rate it is the rule's own.
-- Needs  rate.lua

local BACKLOG = INTEGER .. ':' .. INTEGER

-- Returns: how far the instant is ahead (microseconds, part) once what lies behind the slower rate's time goes
-- by the rule's own.
local function after_slow(ahead, part, limit, window, slow_for, own_limit, own_window)
  if ahead < slow_for then return ahead, part end
  return slow_for + convert(ahead - slow_for, part, limit, window, own_limit, own_window), 0
end

-- Returns: how far the instant is ahead of now (microseconds, part), 0 if it has passed; the rate at which it is
-- made up for (limit, window): the rule's own, or a slower one; and how long that counts, 0 if it is the rule's.
local function read(key, now, limit, window)
  local stored = get(key)
  if not stored then return 0, 0, limit, window, 0 end
  local s_instant, s_part, s_window, s_limit, s_until = string.match(stored, '^(%d+) ?(%d*):?(%d*)/?(%d*) ?(%d*)$')
  local instant, part = tonumber(s_instant), tonumber(s_part) or 0
  if not instant or instant < now then return 0, 0, limit, window, 0 end
  local ahead, rate_window, rate_limit = instant - now, tonumber(s_window), tonumber(s_limit) or 1
  if not rate_window then return ahead, math.min(part, limit - 1), limit, window, 0 end
  local is_same = rate_limit == limit and rate_window == window
  if is_same or (rate_limit == 1 and window % limit == 0 and window / limit == rate_window) then
    return ahead, part, limit, window, 0
  end
  if not is_slower(rate_limit, rate_window, limit, window) then
    return convert(ahead, part, rate_limit, rate_window, limit, window), 0, limit, window, 0
  end

  local ends_at = tonumber(s_until) or instant + (part > 0 and 1 or 0)
  local slow_for = ends_at - now
  if slow_for > 0 then return ahead, part, rate_limit, rate_window, slow_for end
  ahead, part = after_slow(ahead, part, rate_limit, rate_window, slow_for, limit, window)
  if ahead < 0 then return 0, 0, limit, window, 0 end
  return ahead, part, limit, window, 0
end

-- Returns: how long until nothing of it is left (microseconds).
local function length_of(ahead, part, limit, window, slow_for, own_limit, own_window)
  if slow_for > 0 then
    ahead, part = after_slow(ahead, part, limit, window, slow_for, own_limit, own_window)
  end
  return part > 0 and ahead + 1 or ahead
end

-- Returns: how long until it is no longer than it may be (microseconds), `own_most` by the rule's own rate, where
-- the slower rate does not count any more then.
local function wait_after_slow(ahead, part, limit, window, slow_for, own_limit, own_window, own_most, own_most_part)
  ahead, part = after_slow(ahead, part, limit, window, slow_for, own_limit, own_window)
  local own_wait = part > own_most_part and ahead - own_most + 1 or ahead - own_most
  return math.max(slow_for, own_wait)
end

-- Returns: the state for an instant so far ahead, and when it may be forgotten.
local function write(now, ahead, part, limit, window, slow_for)
  local state
  if window % limit == 0 and slow_for == 0 then
    state = string.format(BACKLOG, now + ahead, window / limit)
  else
    local s_part = part > 0 and ' ' .. string.format(INTEGER, part) or ''
    local s_limit = ''
    if window % limit == 0 then window = window / limit else s_limit = '/' .. string.format(INTEGER, limit) end
    local s_until = slow_for > 0 and ' ' .. string.format(INTEGER, now + slow_for) or ''
    state = string.format(INTEGER, now + ahead) .. s_part .. ':' .. string.format(INTEGER, window) .. s_limit .. s_until
  end
  return state, part > 0 and ahead + 1 or ahead
end
