-- Fair shares of one limit: all tenants of a rule have one key. What is added per microsecond is divided among them by
-- weight, and what one cannot hold goes to the others (water-filling, which is max-min fair).
--
-- KEYS  the rule's key: a string, `shares`, then doubles (so that many are packed at once): window, burst, at, pool, and
--       for each tenant id, load, credit, seen:
--       window, burst  those that the units were counted with (microseconds, permits)
--       at             up to when units were added (microseconds since the epoch)
--       pool           units that no tenant has; a unit is 1/window permit, and each microsecond adds `limit`
--       id             the tenant; 0 for those that share one place
--       load           weight + 1024 taken: permits that it has taken in the window of `seen`, at most 2^42; windows
--                      start at multiples of their length
--       credit         units that it may take at once; negative if it owes
--       seen           when its last request arrived (microseconds since the epoch)
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), tenant (its id), weight, named (1: always has a share
--       of its own)
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after, guaranteed, borrowed; a denial
--          also has a state, so that the tenant counts as one that asks
--       guaranteed     permits per window that the tenant gets whatever the others take
--       borrowed       permits beyond these that it has taken in this window
--
-- @needs rate

-- Maximum number of tenants with a share of their own, besides those that are named.
local MOST_TENANTS = 100

-- The start of a state, and its doubles before those of the tenants. Each double has eight bytes.
local MAGIC, HEAD = 'shares', 4

-- More than any weight, and the most permits that are counted as taken: their product is exact.
local TAKEN, MOST_TAKEN = 1024, 2 ^ 42

-- The shares at the current time: the tenants are in parallel lists.
local at, pool, count, total, sum_weights
local ids, weights, loads, credits, seen = {}, {}, {}, {}, {}

-- The parameters of the rule.
local limit, window, burst

-- The state that was written last, whose shares need not be read again, with its window and burst.
local written, written_window, written_burst

-- The formats of structs by the number of doubles.
local formats = {}

local function format_of(doubles)
  local known = formats[doubles]
  if not known then
    known = '<' .. string.rep('d', doubles)
    formats[doubles] = known
  end
  return known
end

-- Returns: the time in which a rule that was used up is full again (microseconds).
local function fill_time()
  return math.ceil(burst * window / limit)
end

-- Returns: how many units are the share of a tenant in the burst, for each unit of weight.
local function cap_of()
  return math.floor(burst * window / sum_weights)
end

-- Divides the pool among the tenants by weight, until each holds what it can: its share in the burst, at least a permit.
local function level()
  if count == 0 then return end
  local cap, least, sum = cap_of(), window, 0
  for index = 1, count do
    local weight, credit = weights[index], credits[index]
    local most = math.max(cap * weight, least)
    if credit > most then
      credits[index], pool = most, pool + credit - most
    elseif credit < most then
      sum = sum + weight
    end
  end
  while sum > 0 and pool >= sum do
    local each = math.floor(pool / sum)
    sum = 0
    for index = 1, count do
      local weight, credit = weights[index], credits[index]
      local most = math.max(cap * weight, least)
      if credit < most then
        local given = math.min(each * weight, most - credit)
        credit, pool = credit + given, pool - given
        credits[index] = credit
        if credit < most then sum = sum + weight end
      end
    end
  end
end

-- Converts shares of another window or burst: consumed permits stay consumed, and the rest is divided anew.
local function convert(from_window, from_burst)
  local missing = from_burst * from_window - total
  total = burst * window - math.ceil(missing / from_window * window)
  pool = total
  for index = 1, count do
    credits[index] = math.min(0, -math.ceil(-credits[index] / from_window * window))
    pool = pool - credits[index]
  end
end

-- Adds the units of the time that has passed.
local function advance(now)
  local missing, elapsed = burst * window - total, math.max(0, now - at)
  local added = elapsed >= math.ceil(missing / limit) and missing or elapsed * limit
  pool, total = pool + added, total + added
  at = math.max(now, at)
  level()
end

-- Removes the tenants that have been idle for as long as the rule takes to be full. Returns whether there were any.
local function forget_idle()
  local idle_since, kept = at - fill_time(), 0
  for index = 1, count do
    if seen[index] <= idle_since and credits[index] >= 0 then
      pool, sum_weights = pool + credits[index], sum_weights - weights[index]
    elseif kept + 1 == index then
      kept = index
    else
      kept = kept + 1
      ids[kept], weights[kept], loads[kept] = ids[index], weights[index], loads[index]
      credits[kept], seen[kept] = credits[index], seen[index]
    end
  end
  local is_changed = kept < count
  count = kept
  return is_changed
end

-- Reads the window and the burst of a state, and the shares as they were then. Returns nil if there is none.
local function unpack_state(key, stored)
  if not stored then return nil end
  local doubles = (#stored - #MAGIC) / 8
  if string.sub(stored, 1, #MAGIC) ~= MAGIC or doubles < HEAD or doubles % 4 ~= 0 then fail_unrecognised(key, window) end
  local values = { struct.unpack(format_of(doubles), stored, #MAGIC + 1) }
  at, pool, count, sum_weights = values[3], values[4], doubles / 4 - 1, 0
  total = pool
  for index = 1, count do
    local first = 4 * index
    local load, credit = values[first + 2], values[first + 3]
    local weight = load % TAKEN
    ids[index], weights[index], loads[index] = values[first + 1], weight, load
    credits[index], seen[index] = credit, values[first + 4]
    total, sum_weights = total + credit, sum_weights + weight
  end
  return values[1], values[2]
end

-- Reads the shares that apply now. Returns whether they are to be divided anew.
local function read(key, now, rule_limit, rule_window, rule_burst)
  limit, window, burst = rule_limit, rule_window, rule_burst
  local stored, from_window, from_burst = get(key), written_window, written_burst
  if not stored or stored ~= written then from_window, from_burst = unpack_state(key, stored) end
  written = nil -- until the shares are written
  if not from_window then
    at, pool, count, total, sum_weights = now, burst * window, 0, burst * window, 0
    return false
  end
  if from_window ~= window or from_burst ~= burst then convert(from_window, from_burst) end
  local by = set_back(at)
  if by > 0 then
    at = at - by
    for index = 1, count do seen[index] = seen[index] - by end
  end
  advance(now)
  return forget_idle()
end

-- Returns: the position of a tenant; nil if it has none.
local function find(id)
  for index = 1, count do
    if ids[index] == id then return index end
  end
  return nil
end

-- Gives a new tenant a permit from tenants that hold more than their part of what is left, so that it is not denied while
-- most of the limit is unused. Each keeps a permit, too.
local function welcome(me)
  local each, spares = math.floor(total / sum_weights), 0
  local function spare(index)
    return index == me and 0 or math.max(0, credits[index] - math.max(each * weights[index], window))
  end
  for index = 1, count do
    spares = spares + spare(index)
  end
  local missing = math.min(window - credits[me], spares)
  if missing <= 0 then return end
  local ratio = missing / spares
  for index = 1, count do
    local given = math.min(math.ceil(spare(index) * ratio), missing)
    credits[index] = credits[index] - given
    credits[me], missing = credits[me] + given, missing - given
  end
end

-- Adds the tenant of a request, or updates it. Returns its position.
local function join(tenant, weight, named, is_changed)
  local me = find(tenant)
  if not me and named == 0 and count >= MOST_TENANTS then
    tenant = 0
    me = find(0)
  end
  local is_new = not me
  if is_new then
    count = count + 1
    me = count
    weights[me], loads[me], credits[me], seen[me] = 0, 0, 0, at
  end
  if weights[me] ~= weight then
    sum_weights, loads[me] = sum_weights - weights[me] + weight, loads[me] - weights[me] + weight
    weights[me], is_changed = weight, true
  end
  if seen[me] < at - at % window then loads[me] = weight end
  ids[me], seen[me] = tenant, at
  if is_changed then level() end
  if is_new then welcome(me) end
  return me
end

-- Returns: the time after which a tenant holds at least `target` units if no request arrives (microseconds). If the rule
-- is full before, that is when the other tenants are forgotten.
local function wait_for(me, target)
  local cap, reached, needed = cap_of(), math.ceil((target - credits[me]) / weights[me]), -pool
  for index = 1, count do
    needed = needed + math.min(reached * weights[index], math.max(cap * weights[index], window) - credits[index])
  end
  local missing = burst * window - total
  if needed <= missing then return math.ceil(needed / limit) end
  local wait = math.ceil(missing / limit)
  for index = 1, count do
    if index ~= me then wait = math.max(wait, seen[index] + fill_time() - at) end
  end
  return wait
end

local function write()
  local values = { window, burst, at, pool }
  for index = 1, count do
    local first = 4 * index
    values[first + 1], values[first + 2], values[first + 3], values[first + 4] =
      ids[index], loads[index], credits[index], seen[index]
  end
  written, written_window, written_burst = MAGIC .. struct.pack(format_of(#values), unpack(values)), window, burst
  return written
end

-- Returns: the permits that a tenant has taken in this window.
local function taken_of(me)
  return (loads[me] - weights[me]) / TAKEN
end

-- Sets the permits that a tenant has taken in this window.
local function set_taken(me, taken)
  loads[me] = weights[me] + TAKEN * math.max(0, math.min(taken, MOST_TAKEN))
end

-- Returns: the part of a tenant: guaranteed, borrowed (permits).
local function part_of(me)
  local guaranteed = math.floor(limit * weights[me] / sum_weights)
  return guaranteed, math.max(0, taken_of(me) - guaranteed)
end

local function step(key, now, cost, max_wait, _, rule_limit, rule_window, rule_burst, tenant, weight, named)
  if rule_limit == 0 then return false, 0, -1, 0 end

  local me = join(tenant, weight, named, read(key, now, rule_limit, rule_window, rule_burst))
  local ahead, need, most = at - now, cost * window, cap_of() * weights[me]
  local free = credits[me] + pool -- the pool is too little to be divided
  local least = free >= math.min(window, most) and total >= window and 1 or 0
  local remaining = math.max(least, math.floor(math.min(free, total) / window))

  if cost > 0 and max_wait < math.huge and not (free >= math.min(need, most) and total >= need) then
    local reset_after = ahead + math.ceil((burst * window - total) / limit)
    local wait = math.max(1, wait_for(me, math.min(need, most)), math.ceil((need - total) / limit))
    local retry_after = cost > burst and -1 or ahead + wait
    return false, remaining, retry_after, reset_after, write(), math.max(reset_after, ahead + fill_time()), part_of(me)
  end

  local units = math.min(need, LONGEST + total)
  credits[me], total = credits[me] - units, total - units
  if cost > 0 then set_taken(me, taken_of(me) + cost) end
  local reset_after = math.max(0, ahead + math.ceil((burst * window - total) / limit))
  local expires_after = math.max(reset_after, ahead + fill_time())
  return true, math.max(0, remaining - cost), 0, reset_after, write(), expires_after, part_of(me)
end

-- A charge expires gradually as units are added: at most what can be left of it is refunded.
local function refund(key, now, cost, receipt, only_last, rule_limit, rule_window, rule_burst, tenant)
  if rule_limit == 0 then return nil end
  if read(key, now, rule_limit, rule_window, rule_burst) then level() end
  local missing = burst * window - total
  local ends_at = at + math.ceil(missing / limit)
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  local units, me = math.min(cost * window, (receipt - now) * limit, missing), find(tenant) or find(0)
  if me then
    credits[me] = credits[me] + units
    set_taken(me, taken_of(me) - cost)
  else
    pool = pool + units
  end
  total = total + units
  level()
  local reset_after = at - now + math.ceil((burst * window - total) / limit)
  return write(), math.max(reset_after, at - now + fill_time())
end

-- Refills the part of a tenant, as if it had taken nothing. The others keep what they have.
local function clear(key, now, rule_limit, rule_window, rule_burst, tenant, _, named)
  if rule_limit == 0 then return nil end
  if read(key, now, rule_limit, rule_window, rule_burst) then level() end
  local me = find(tenant) or named == 0 and find(0)
  if not me then return nil end
  local most = math.max(cap_of() * weights[me], window)
  local units = math.max(0, math.min(most - credits[me], burst * window - total))
  credits[me], total, loads[me] = credits[me] + units, total + units, weights[me]
  local reset_after = at - now + math.ceil((burst * window - total) / limit)
  return write(), math.max(reset_after, at - now + fill_time())
end

return { step = step, refund = refund, clear = clear }
