-- Token bucket: holds up to `burst` tokens. A request takes `cost` of them; `limit` tokens are added per window,
-- continuously or all at once after each whole window.
--
-- KEYS  the rule's key: a string, `used instant part:window/limit until`:
--       used           tokens missing from a full bucket
--       instant, part  the instant up to which tokens are credited (microseconds since the epoch, and a fraction in
--                      units of 1/limit microsecond; without ` part`, the fraction is 0)
--       window/limit   the refill (microseconds, tokens; without `/limit`, 1 token), with `i` after it if tokens
--                      are added after each whole window
--       until          until when this refill also applies to a rule with a faster one (microseconds since the epoch);
--                      without ` until`, until the bucket is full
--       The state of an earlier release is `tokens instant part`.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), interval (1: tokens are added after each whole window;
--       0: one by one), initial (tokens of a new bucket), overdraft (1: a waiting request may cost more than the burst)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after
--
-- @needs rate, refill

-- How long a full bucket is kept if a new one would not be full (microseconds).
local MEMORY = 86400000000

local PLAIN = INTEGER .. ' ' .. INTEGER .. ':' .. INTEGER

-- The bucket: missing tokens, the credited instant, the refill, and until when that also applies to a rule with a
-- faster one (0 if it is the rule's own).
local used, instant, part, limit, window, interval, ends_at

-- The rule's own refill, the capacity of its bucket, and the tokens of a new bucket.
local own_limit, own_window, own_interval, own_burst, own_initial

-- Returns: how many tokens are missing at the instant from which the rule's own refill applies instead of a slower one.
local function used_after_slow()
  return (credit_up_to(ends_at, used, instant, part, limit, window, interval))
end

local function go_by_own(missing, since)
  used, instant, part, limit, window, interval, ends_at =
    missing, since, 0, own_limit, own_window, own_interval, 0
end

-- Converts the bucket to the rule's own refill; a slower refill still applies until ends_at.
local function adopt(now)
  if own_window / own_limit > window / limit then
    local missing, credited, rest = credit_up_to(now, used, instant, part, limit, window, interval)
    go_by_own(missing, rest > 0 and credited + 1 or credited)
  else
    if ends_at == 0 then ends_at = instant_of(used, instant, part, limit, window, interval) end
    if now >= ends_at then go_by_own(used_after_slow(), ends_at) end
  end
end

-- Returns: the instant from which at most a number of tokens are missing.
local function instant_with(missing)
  local at = instant_of(used - missing, instant, part, limit, window, interval)
  if ends_at == 0 or at < ends_at then return at end
  return instant_of(used_after_slow() - missing, ends_at, 0, own_limit, own_window, own_interval)
end

-- Reads the bucket and adds its tokens up to now.
-- Returns: whether the subject has a bucket.
local function fill(key, now)
  local stored = get(key) or ''
  -- The most frequent form first: a pattern with optional parts takes longer.
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

-- Returns: the time until the bucket is full.
local function full_after(now)
  return used > 0 and instant_with(0) - now or 0
end

-- Returns: the state, and the time after which it may be deleted: when the bucket is full, even at a slower refill.
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

local function step(key, now, cost, max_wait, _, rule_limit, rule_window, burst, rule_interval, initial, overdraft)
  if rule_limit == 0 then return false, 0, -1, 0 end

  own_limit, own_window, own_interval, own_burst, own_initial = rule_limit, rule_window, rule_interval, burst, initial
  local is_new = not fill(key, now)
  if is_new then go_by_own(burst - initial, now) end
  local most_owed = window % limit == 0 and math.floor(LONGEST / (window / limit)) or math.floor(LONGEST / window) * limit
  local wait = 0
  if cost > math.max(0, burst - used) then
    local overdraws = cost > burst and overdraft == 1 and max_wait > 0 and cost < math.min(LONGEST, most_owed) / 2
    local most_used = overdraws and 0 or burst - cost
    wait = used > most_used and instant_with(most_used) - now or 0
    local is_never = cost > burst and not overdraws
    if max_wait < math.huge and (is_never or wait > max_wait) then
      -- A denial stores nothing, so that a new bucket gains no tokens.
      local retry_after = (is_never or is_new) and -1 or wait - max_wait
      return false, math.max(0, burst - used), retry_after, full_after(now)
    end
  end

  used = math.min(used + cost, burst + math.min(LONGEST, most_owed))
  return true, math.max(0, burst - used), wait, full_after(now), write(now)
end

-- A charge expires gradually as the bucket fills: after later charges, at most what can be left of it is refunded.
local function refund(key, now, cost, receipt, only_last, rule_limit, rule_window, burst, rule_interval, initial)
  if rule_limit == 0 then return nil end
  own_limit, own_window, own_interval, own_burst, own_initial = rule_limit, rule_window, rule_interval, burst, initial
  if not fill(key, now) then return nil end
  local full_at = now + full_after(now)
  if receipt <= now or full_at <= now or (only_last and full_at ~= receipt) then return nil end

  if full_at == receipt then
    used = used - cost
  else
    used, instant, part = refund_tokens(cost, receipt - now, now, used, instant, part, limit, window, interval)
  end
  if used <= 0 then used, instant, part = 0, math.max(instant, now), 0 end
  return write(now)
end

return { step = step, refund = refund }
