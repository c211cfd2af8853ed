-- Token bucket: holds up to `burst` tokens, takes `cost` of them a hit, and gains `limit` tokens
-- a window, continuously or all at once after each whole window.
--
-- KEYS  the rule's key: a string, `used instant part:window/limit until` (tokens that are missing to a full
--       bucket; the instant up to which those that came are credited: microseconds, part in 1/limit of one; how
--       they came; and until when a rule whose tokens come faster goes by that). Without ` part` it is 0,
--       without `/limit` 1, with `i` behind it tokens came after each whole window, without ` until` it is as
--       long as the bucket is not full. `tokens instant part` is of an earlier release.
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), interval (1: tokens come after each
--       whole window; 0: one by one), initial (tokens of a new bucket)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate, refill

-- How long a full bucket is remembered, where a new one would not be full (microseconds).
local MEMORY = 86400000000

local PLAIN = INTEGER .. ' ' .. INTEGER .. ':' .. INTEGER

-- The bucket: tokens that are missing; up to when it is credited; how tokens come; until when those of a faster
-- rule come so, too, 0 if it is the rule's own.
local used, instant, part, limit, window, interval, ends_at

-- How tokens come by the rule itself, and how many it holds.
local own_limit, own_window, own_interval, own_burst, own_initial

-- Returns: how many tokens are missing when the slower refill has counted for long enough.
local function used_after_slow()
  return (credit_up_to(ends_at, used, instant, part, limit, window, interval))
end

local function go_by_own(missing, since)
  used, instant, part, limit, window, interval, ends_at =
    missing, since, 0, own_limit, own_window, own_interval, 0
end

-- Takes up what a rule whose tokens come alike, faster or more slowly has left; of a slower one, its refill stays.
local function adopt(now)
  if own_window / own_limit > window / limit then
    local missing, credited, rest = credit_up_to(now, used, instant, part, limit, window, interval)
    go_by_own(missing, rest > 0 and credited + 1 or credited)
  else
    if ends_at == 0 then ends_at = instant_of(used, instant, part, limit, window, interval) end
    if now >= ends_at then go_by_own(used_after_slow(), ends_at) end
  end
end

-- Returns: the instant at which no more than so many tokens are missing.
local function instant_with(missing)
  local at = instant_of(used - missing, instant, part, limit, window, interval)
  if ends_at == 0 or at < ends_at then return at end
  return instant_of(used_after_slow() - missing, ends_at, 0, own_limit, own_window, own_interval)
end

-- Returns: whether there is a bucket, as it is now; if not, it is a new one.
local function fill(key, now)
  local stored = get(key) or ''
  -- The usual form first: a pattern with parts that may be absent takes longer.
  local s_used, s_instant, s_window = string.match(stored, '^(%d+) (%d+):(%d+)$')
  local s_part, s_limit, s_interval, s_until
  if not s_used then
    s_used, s_instant, s_part, s_window, s_limit, s_interval, s_until =
      string.match(stored, '^(%d+) (%d+) ?(%d*):(%d+)/?(%d*)(i?) ?(%d*)$')
  end
  if s_used then
    used, instant, part = tonumber(s_used), tonumber(s_instant), s_part and tonumber(s_part) or 0
    limit, window, interval = s_limit and tonumber(s_limit) or 1, tonumber(s_window), s_interval == 'i' and 1 or 0
    ends_at = s_until and tonumber(s_until) or 0
    local is_pace = limit == 1 and interval == 0 and own_interval == 0 and window * own_limit == own_window
    if is_pace or (limit == own_limit and window == own_window and interval == own_interval) then
      ends_at = 0
    else
      adopt(now)
    end
  else
    local s_tokens
    s_tokens, s_instant, s_part = string.match(stored, '^(-?%d+) (%d+) (%d+)$')
    if not s_tokens then return false end
    go_by_own(math.max(0, own_burst - tonumber(s_tokens)), tonumber(s_instant))
    part = math.min(tonumber(s_part), limit - 1)
  end
  if own_initial < own_burst and now >= instant_with(0) + MEMORY then return false end
  used, instant, part = credit_up_to(now, used, instant, part, limit, window, interval)
  return true
end

-- Returns: how long until the bucket is full.
local function full_after(now)
  return used > 0 and instant_with(0) - now or 0
end

-- Returns: the state, and when the bucket may be forgotten: when it is full by whatever rule.
local function write(now)
  local full, state = instant_of(used, instant, part, limit, window, interval), nil
  local is_even = interval == 0 and window % limit == 0
  if is_even and part == 0 and ends_at == 0 then
    state = string.format(PLAIN, used, instant, window / limit)
  else
    state = string.format(INTEGER, used) .. ' ' .. string.format(INTEGER, instant)
    if part > 0 then state = state .. ' ' .. string.format(INTEGER, part) end
    if is_even then
      state = state .. ':' .. string.format(INTEGER, window / limit)
    else
      state = state .. ':' .. string.format(INTEGER, window) .. '/' .. string.format(INTEGER, limit)
    end
    if interval == 1 then state = state .. 'i' end
    if ends_at > 0 then state = state .. ' ' .. string.format(INTEGER, ends_at) end
  end
  if own_initial < own_burst then return state, full + MEMORY - now end
  return state, used > 0 and full - now or 0
end

local function step(key, now, cost, patience, _, rule_limit, rule_window, burst, rule_interval, initial)
  if rule_limit == 0 then return false, 0, -1, 0 end

  own_limit, own_window, own_interval, own_burst, own_initial = rule_limit, rule_window, rule_interval, burst, initial
  local is_new = not fill(key, now)
  if is_new then go_by_own(burst - initial, now) end
  local wait = 0
  if cost > math.max(0, burst - used) then
    wait = used > burst - cost and instant_with(burst - cost) - now or 0
    if patience < math.huge and (cost > burst or wait > patience) then
      -- A denial stores nothing, so that a new bucket stays as it is.
      local retry_after = (cost > burst or is_new) and -1 or wait - patience
      return false, math.max(0, burst - used), retry_after, full_after(now)
    end
  end

  local most_owed = window % limit == 0 and math.floor(LONGEST / (window / limit)) or math.floor(LONGEST / window) * limit
  used = math.min(used + cost, burst + math.min(LONGEST, most_owed))
  return true, math.max(0, burst - used), wait, full_after(now), write(now)
end

-- A charge wears off as the bucket fills: where others have come since, no more than what can be left
-- of it is given back.
local function refund(key, now, cost, receipt, only_last, rule_limit, rule_window, burst, rule_interval, initial)
  if rule_limit == 0 then return nil end
  own_limit, own_window, own_interval, own_burst, own_initial = rule_limit, rule_window, rule_interval, burst, initial
  if not fill(key, now) then return nil end
  local full_at = now + full_after(now)
  if receipt <= now or full_at <= now or (only_last and full_at ~= receipt) then return nil end

  if full_at == receipt then
    used = used - cost
  else
    used, instant, part = give_back(cost, receipt - now, now, used, instant, part, limit, window, interval)
  end
  if used <= 0 then used, instant, part = 0, math.max(instant, now), 0 end
  return write(now)
end

return { step = step, refund = refund }
