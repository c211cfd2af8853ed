-- Concurrency: permits are held under a name until they are released, or until their lease ends because the holder has
-- died.
--
-- KEYS  the rule's key: a sorted set of held permits, `name/1` … `name/cost`, each scored with the instant at which its
--       lease ends (microseconds since the epoch)
-- ARGV  now (microseconds), cost (permits), patience (microseconds), the lease's name, then the rule's
--       parameters: limit (permits), lease (microseconds)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

-- Maximum number of permits of one lease, and of expired permits that one call removes: no call moves more.
local MOST_MOVED = 1000

-- Returns: how many permits have expired.
local function count_gone(key, now)
  return redis.call('ZCOUNT', key, '-inf', string.format(INTEGER, now))
end

-- Returns: the end of the lease at a position in the sorted set, counted from the first (0) or from the last (-1).
local function end_of(key, position)
  return tonumber(redis.call('ZRANGE', key, position, position, 'WITHSCORES')[2])
end

local function step(key, now, cost, patience, name, limit, lease)
  if limit == 0 then return false, 0, -1, 0 end

  local gone = count_gone(key, now)
  local held = redis.call('ZCARD', key) - gone
  local remaining = math.max(0, limit - held)
  local reset_after = held > 0 and end_of(key, -1) - now or 0

  if cost > MOST_MOVED or (cost > remaining and patience < math.huge) then
    if cost > math.min(limit, MOST_MOVED) then return false, remaining, -1, reset_after end
    return false, remaining, end_of(key, gone + held + cost - limit - 1) - now, reset_after
  end

  if cost > 0 then reset_after = math.max(reset_after, lease) end
  local state = { name = name, cost = cost, ends_at = now + lease, gone = gone }
  return true, math.max(0, remaining - cost), 0, reset_after, state, reset_after
end

-- Returns: how many permits are still held under a name; nil if none.
local function held_by(key, now, name)
  local ends_at = redis.call('ZSCORE', key, name .. '/1')
  if not ends_at or tonumber(ends_at) <= now then return nil end
  local held, beyond = 1, 2
  while redis.call('ZSCORE', key, name .. '/' .. beyond) do held, beyond = beyond, beyond * 2 end
  while beyond - held > 1 do
    local middle = math.floor((held + beyond) / 2)
    if redis.call('ZSCORE', key, name .. '/' .. middle) then held = middle else beyond = middle end
  end
  return held
end

local function refund(key, now, _, name)
  local cost = held_by(key, now, name)
  if not cost then return nil end
  return { name = name, cost = cost, gone = count_gone(key, now) }, math.max(1, end_of(key, -1) - now)
end

local function renew(key, now, name, limit, lease)
  local cost = held_by(key, now, name)
  if not cost then return nil end
  local state = { name = name, cost = cost, ends_at = now + lease, gone = count_gone(key, now) }
  return state, math.max(end_of(key, -1) - now, lease)
end

-- Returns: the arguments of ZADD or ZREM: the permits, each preceded by its score if `ends_at` is given.
local function permits_of(name, cost, ends_at)
  local permits = {}
  for permit = 1, cost do
    if ends_at then permits[#permits + 1] = ends_at end
    permits[#permits + 1] = name .. '/' .. permit
  end
  return unpack(permits)
end

-- Adds permits before expired ones are removed: a server out of memory rejects the ZADD, so that the request fails
-- uncharged. Expired permits beyond the maximum are not counted, and later calls remove them.
local function save(key, state, expires_ms)
  local ends_at = state.ends_at and string.format(INTEGER, state.ends_at)
  redis.call(ends_at and 'ZADD' or 'ZREM', key, permits_of(state.name, state.cost, ends_at))
  if state.gone > 0 then
    redis.call('ZREMRANGEBYRANK', key, 0, math.min(state.gone, MOST_MOVED) - 1)
  end
  redis.call('PEXPIRE', key, expires_ms)
end

return { step = step, refund = refund, renew = renew, save = save, leases = true }
