-- A GCRA without anything else: the lowest cost of an exact decision. The state is the instant at which all permits are
-- available again: microseconds since the epoch, and `:part` in units of 1/limit microsecond.
--
-- KEYS  the key
-- ARGV  limit (permits), window (microseconds)
-- Returns  allowed (1 or 0), remaining (permits), wait (microseconds), reset (microseconds)

-- Returns: how many permits become available within a span (microseconds, part).
local function permits_in(span, part, limit, window)
  local rest = window % limit
  if rest == 0 then return math.floor(span / (window / limit)) end
  local each = (window - rest) / limit
  local guess = math.floor((span + part / limit) * limit / window)
  for permits = guess + 1, guess - 1, -1 do
    local fine = permits * rest
    local whole = permits * each + math.floor(fine / limit)
    if whole < span or (whole == span and fine % limit <= part) then return permits end
  end
end

local function decide(key, limit, window, now)
  local ahead, part, stored = 0, 0, redis.call('GET', key)
  if stored then
    local instant = tonumber(stored)
    if not instant then
      local s_instant, s_part = string.match(stored, '^(%d+):(%d+)$')
      instant, part = tonumber(s_instant), tonumber(s_part)
    end
    ahead = instant - now
    if ahead < 0 then ahead, part = 0, 0 end
  end
  local free, free_part = window - ahead, -part
  if free_part < 0 then free, free_part = free - 1, free_part + limit end
  local remaining = permits_in(free, free_part, limit, window)
  local rest = window % limit
  local need, need_part = (window - rest) / limit, rest
  if remaining < 1 then
    local wait = need - free
    if need_part > free_part then wait = wait + 1 end
    return 0, 0, wait, part > 0 and ahead + 1 or ahead
  end
  ahead, part = ahead + need, part + need_part
  if part >= limit then ahead, part = ahead + 1, part - limit end
  local state = string.format('%d', now + ahead)
  if part > 0 then state = state .. ':' .. string.format('%d', part) end
  local reset = part > 0 and ahead + 1 or ahead
  redis.call('SET', key, state, 'PX', string.format('%d', math.ceil(reset / 1000) + 1))
  return 1, remaining - 1, 0, reset
end
