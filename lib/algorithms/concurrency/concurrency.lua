-- Concurrency: permits that are held by name until they are given back, or until their lease ends
-- because the holder has died.
--
-- KEYS  the rule's key: a sorted set of held permits, `name/1` … `name/cost`, by the instant at which
--       each lease ends (microseconds)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), the lease's name, then the rule's
--       parameters: limit (permits), lease (microseconds)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after

-- Returns: the instant at which the lease ends that stands so far from the first (0) or the last (-1).
local function end_of(key, position)
  return tonumber(redis.call('ZRANGE', key, position, position, 'WITHSCORES')[2])
end

local function step(key, now, cost, patience, name, limit, lease)
  if limit == 0 then return false, 0, -1, 0 end

  local gone = redis.call('ZCOUNT', key, '-inf', string.format(INTEGER, now))
  local held = redis.call('ZCARD', key) - gone
  local remaining = math.max(0, limit - held)
  local reset_after = held > 0 and end_of(key, -1) - now or 0

  if cost > remaining and patience < math.huge then
    if cost > limit then return false, remaining, -1, reset_after end
    return false, remaining, end_of(key, gone + held + cost - limit - 1) - now, reset_after
  end

  if cost > 0 then reset_after = math.max(reset_after, lease) end
  local state = { name = name, cost = cost, ends_at = now + lease, now = now }
  return true, math.max(0, remaining - cost), 0, reset_after, state, reset_after
end

-- Returns: how many permits the name still holds; nil if none.
local function held_by(key, now, name)
  local ends_at = redis.call('ZSCORE', key, name .. '/1')
  if not ends_at or tonumber(ends_at) <= now then return nil end
  local cost = 1
  while redis.call('ZSCORE', key, name .. '/' .. cost + 1) do cost = cost + 1 end
  return cost
end

local function refund(key, now, _, name)
  local cost = held_by(key, now, name)
  if not cost then return nil end
  return { name = name, cost = cost, now = now }, math.max(1, end_of(key, -1) - now)
end

local function renew(key, now, name, limit, lease)
  local cost = held_by(key, now, name)
  if not cost then return nil end
  local state = { name = name, cost = cost, ends_at = now + lease, now = now }
  return state, math.max(end_of(key, -1) - now, lease)
end

-- A permit is added before the expired ones go: a server out of memory refuses it, and so the hit.
local function save(key, state, expires_ms)
  for permit = 1, state.cost do
    local member = state.name .. '/' .. permit
    if state.ends_at then
      redis.call('ZADD', key, string.format(INTEGER, state.ends_at), member)
    else
      redis.call('ZREM', key, member)
    end
  end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format(INTEGER, state.now))
  redis.call('PEXPIRE', key, expires_ms)
end

return { step = step, refund = refund, renew = renew, save = save, leases = true }
