-- Sliding window log: remembers every admitted hit and admits at most `limit` permits in any
-- window.
--
-- KEYS  the rule's key: a list of 14-byte entries, oldest first, each the instant of a hit
--       (microseconds) and the permits admitted up to and including it. The first entry is only
--       the base to count from: it has expired, or is a zero.
-- ARGV  now (microseconds), cost (permits), patience (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds)
-- Returns  allowed, remaining, wait (-1: never), reset_after, state, expires_after

local ENTRY = '>I7I7'

-- Returns: instant and total of an entry; beyond the end, more than any.
local function entry(key, index)
  local stored = redis.call('LINDEX', key, index)
  if not stored then return math.huge, math.huge end
  local instant, total = struct.unpack(ENTRY, stored)
  return instant, total
end

-- Returns: the first index above `low` whose instant (field 1) or total (field 2) reaches `bound`.
local function first_reaching(key, low, field, bound)
  local stride, probe = 1, low + 1
  while (select(field, entry(key, probe))) < bound do
    low, stride = probe, stride * 2
    probe = low + stride
  end
  while probe - low > 1 do
    local middle = math.floor((low + probe) / 2)
    if (select(field, entry(key, middle))) < bound then low = middle else probe = middle end
  end
  return probe
end

local function step(key, now, cost, patience, _, limit, window)
  if limit == 0 then return false, 0, -1, 0 end

  local last_instant, last_total = entry(key, -1)
  local fresh = last_total == math.huge
  local latest, base, base_total = now, 0, 0
  if fresh then
    last_instant, last_total = 0, 0
  else
    latest = math.max(now, last_instant)
    local horizon = latest - window
    if last_instant <= horizon then
      base, base_total = -1, last_total
    else
      base = first_reaching(key, 0, 1, horizon + 1) - 1
      base_total = select(2, entry(key, base))
    end
  end
  local used = last_total - base_total
  local remaining = math.max(0, limit - used)

  if cost > remaining and patience < math.huge then
    local reset_after = used > 0 and last_instant + window - now or 0
    if cost > limit then return false, remaining, -1, reset_after end
    local freeing = first_reaching(key, base, 2, base_total + used + cost - limit)
    return false, remaining, entry(key, freeing) + window - now, reset_after
  end

  if cost == 0 then return true, remaining, 0, used > 0 and last_instant + window - now or 0 end
  local reset_after = latest + window - now
  local state = { fresh, base, { struct.pack(ENTRY, latest, last_total + cost) } }
  return true, math.max(0, remaining - cost), 0, reset_after, state, reset_after
end

-- Takes the cost out of the hit and out of every total behind it.
local function refund(key, now, cost, receipt, only_last, limit, window)
  local instant = receipt - window
  if only_last or receipt <= now then return nil end
  local index = first_reaching(key, 0, 1, instant)
  if (entry(key, index)) ~= instant then return nil end

  local _, before = entry(key, index - 1)
  local rewritten, last_instant = {}, instant
  for _, stored in ipairs(redis.call('LRANGE', key, index, -1)) do
    local at, total = struct.unpack(ENTRY, stored)
    rewritten[#rewritten + 1] = struct.pack(ENTRY, at, math.max(before, total - cost))
    last_instant = at
  end
  return { false, nil, rewritten, index }, last_instant + window - now
end

-- A hit is pushed before the expired ones go: a server out of memory refuses the push, and so the
-- whole hit.
local function save(key, state, expires_ms)
  local fresh, base, pushed, index = unpack(state, 1, 4)
  if fresh then redis.call('RPUSH', key, struct.pack(ENTRY, 0, 0)) end
  if index then redis.call('LTRIM', key, 0, index - 1) end
  for first = 1, #pushed, 1000 do
    redis.call('RPUSH', key, unpack(pushed, first, math.min(first + 999, #pushed)))
  end
  if base == -1 then redis.call('LTRIM', key, -2, -1) end
  if base and base > 0 then redis.call('LTRIM', key, base, -1) end
  redis.call('PEXPIRE', key, expires_ms)
end

return { step = step, refund = refund, save = save }
