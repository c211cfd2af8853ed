-- Proportional inheritance: keeps the state of an algorithm with the limit that its permits were counted with, and
-- scales it if the rule has another limit.
--
-- KEYS  a string, `limit|state` (permits; the state of the algorithm)

-- The most permits that can be owed, see rate.lua.
local MOST_OWED = 2 ^ 51

-- Returns: a number of permits, scaled from one limit to another and rounded up. Exact without debt.
local function scale_count(count, from, to)
  return math.min(MOST_OWED, math.ceil(count * to / from))
end

-- Returns: an instant that was stored with a fraction in units of 1/from_limit microsecond, with one in units of
-- 1/to_limit, rounded up (microseconds, part).
local function scale_part(instant, part, from_limit, to_limit, window)
  if part == 0 then return instant, 0 end
  local scaled = math.ceil(part * to_limit / from_limit)
  if window % to_limit == 0 or scaled == to_limit then return instant + 1, 0 end
  return instant, scaled
end

-- Returns: the functions of an algorithm for states with their limit.
local function proportional(base, scale)
  -- Replaces the string of a key by the state of the algorithm, scaled to a limit. Returns the string.
  local function unwrap(key, limit)
    local stored = get(key)
    local s_limit, state = string.match(stored or '', '^(%d+)|(.*)$')
    local from = tonumber(s_limit)
    states[key] = state and (from == limit and state or scale(state, from, limit)) or false
    return stored
  end

  local function wrap(state, limit)
    return state and string.format(INTEGER, limit) .. '|' .. state
  end

  local function step(key, now, cost, max_wait, lease, limit, ...)
    if limit == 0 then return false, 0, -1, 0 end
    local stored = unwrap(key, limit)
    local allowed, remaining, wait, reset_after, state, expires_after =
      base.step(key, now, cost, max_wait, lease, limit, ...)
    states[key] = stored
    return allowed, remaining, wait, reset_after, wrap(state, limit), expires_after
  end

  local function refund(key, now, cost, receipt, only_last, limit, ...)
    if limit == 0 then return nil end
    local stored = unwrap(key, limit)
    local state, expires_after = base.refund(key, now, cost, receipt, only_last, limit, ...)
    states[key] = stored
    return wrap(state, limit), expires_after
  end

  return { step = step, refund = refund }
end
