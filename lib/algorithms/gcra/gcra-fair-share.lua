-- Fair shares of one limit: all tenants of a rule have one key. What is added per microsecond is divided among them by
-- weight, and what one cannot hold goes to the others (water-filling, which is max-min fair).
--
-- KEYS  the rule's key: a string, `window burst at pool`, and for each tenant ` id weight credit seen`:
--       window, burst  those that the units were counted with (microseconds, permits)
--       at             up to when units were added (microseconds since the epoch)
--       pool           units that no tenant has; a unit is 1/window permit, and each microsecond adds `limit`
--       id, weight     the tenant; 0 for those that share one place
--       credit         units that it may take at once; negative if it owes
--       seen           when its last request arrived (microseconds since the epoch)
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), tenant (its id), weight, named (1: always has a share
--       of its own)
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after; a denial also has a state,
--          so that the tenant counts as one that asks
--
-- @needs rate

-- Maximum number of tenants with a share of their own, besides those that are named.
local MOST_TENANTS = 100

local HEAD = THREE_INTEGERS .. ' ' .. INTEGER
local TENANT = ' ' .. HEAD

-- The shares at the current time: the tenants are in parallel lists.
local at, pool, count
local ids, weights, credits, seen, holdings = {}, {}, {}, {}, {}

-- The parameters of the rule.
local limit, window, burst

-- Returns: the time in which a rule that was used up is full again (microseconds).
local function fill_time()
  return math.ceil(burst * window / limit)
end

-- Returns: the units of all tenants together.
local function total_units()
  local total = pool
  for index = 1, count do total = total + credits[index] end
  return total
end

-- Returns: how many units are the share of a tenant in the burst, for each unit of weight.
local function cap_of()
  local sum = 0
  for index = 1, count do sum = sum + weights[index] end
  return math.floor(burst * window / sum)
end

-- Finds how many units each tenant holds at most: its share in the burst, at least a permit.
local function find_holdings()
  local cap = cap_of()
  for index = 1, count do holdings[index] = math.max(cap * weights[index], window) end
end

-- Divides the pool among the tenants by weight, until they hold what they can.
local function level()
  if count == 0 then return end
  find_holdings()
  for index = 1, count do
    local over = credits[index] - holdings[index]
    if over > 0 then credits[index], pool = credits[index] - over, pool + over end
  end
  while true do
    local sum = 0
    for index = 1, count do
      if credits[index] < holdings[index] then sum = sum + weights[index] end
    end
    if sum == 0 or pool < sum then return end
    local each = math.floor(pool / sum)
    for index = 1, count do
      local given = math.min(each * weights[index], holdings[index] - credits[index])
      credits[index], pool = credits[index] + given, pool - given
    end
  end
end

-- Converts shares of another window or burst: consumed permits stay consumed, and the rest is divided anew.
local function convert(from_window, from_burst)
  local missing = from_burst * from_window - total_units()
  pool = burst * window - math.ceil(missing / from_window * window)
  for index = 1, count do
    credits[index] = math.min(0, -math.ceil(-credits[index] / from_window * window))
    pool = pool - credits[index]
  end
end

-- Adds the units of the time that has passed.
local function advance(now)
  local missing, elapsed = burst * window - total_units(), math.max(0, now - at)
  pool = pool + (elapsed >= math.ceil(missing / limit) and missing or elapsed * limit)
  at = math.max(now, at)
  level()
end

-- Removes the tenants that have been idle for as long as the rule takes to be full.
local function forget_idle()
  local idle_since, kept = at - fill_time(), 0
  for index = 1, count do
    if seen[index] <= idle_since and credits[index] >= 0 then
      pool = pool + credits[index]
    else
      kept = kept + 1
      ids[kept], weights[kept], credits[kept], seen[kept] = ids[index], weights[index], credits[index], seen[index]
    end
  end
  count = kept
end

-- Reads the shares that apply now.
local function read(key, now, rule_limit, rule_window, rule_burst)
  limit, window, burst = rule_limit, rule_window, rule_burst
  at, pool, count = now, burst * window, 0
  local stored = get(key)
  local s_window, s_burst, s_at, s_pool, tenants = string.match(stored or '', '^(%d+) (%d+) (%d+) (-?%d+)(.*)$')
  if not s_window then return end
  at, pool = tonumber(s_at), tonumber(s_pool)
  for id, weight, credit, last in string.gmatch(tenants, ' (%d+) (%d+) (-?%d+) (%d+)') do
    count = count + 1
    ids[count], weights[count], credits[count], seen[count] =
      tonumber(id), tonumber(weight), tonumber(credit), tonumber(last)
  end
  local from_window, from_burst = tonumber(s_window), tonumber(s_burst)
  if from_window ~= window or from_burst ~= burst then convert(from_window, from_burst) end
  advance(now)
  forget_idle()
end

-- Returns: the position of a tenant; nil if it has none.
local function find(id)
  for index = 1, count do
    if ids[index] == id then return index end
  end
  return nil
end

-- Adds the tenant of a request, or updates it. Returns its position.
local function join(tenant, weight, named)
  local me = find(tenant)
  if not me and named == 0 and count >= MOST_TENANTS then
    tenant = 0
    me = find(0)
  end
  if not me then
    count = count + 1
    me = count
    credits[me] = 0
  end
  ids[me], weights[me], seen[me] = tenant, weight, at
  level()
  return me
end

-- Returns: the time after which a tenant holds at least `target` units if no request arrives (microseconds).
local function wait_for(me, target)
  find_holdings()
  local reached, needed = math.ceil((target - credits[me]) / weights[me]), -pool
  for index = 1, count do
    needed = needed + math.min(reached * weights[index], holdings[index] - credits[index])
  end
  return math.ceil(needed / limit)
end

local function write()
  local texts = { string.format(HEAD, window, burst, at, pool) }
  for index = 1, count do
    texts[index + 1] = string.format(TENANT, ids[index], weights[index], credits[index], seen[index])
  end
  return table.concat(texts)
end

local function step(key, now, cost, max_wait, _, rule_limit, rule_window, rule_burst, tenant, weight, named)
  if rule_limit == 0 then return false, 0, -1, 0 end

  read(key, now, rule_limit, rule_window, rule_burst)
  local me = join(tenant, weight, named)
  local ahead, need, total, most = at - now, cost * window, total_units(), cap_of() * weights[me]
  local least = credits[me] >= math.min(window, most) and total >= window and 1 or 0
  local remaining = math.max(least, math.floor(math.min(credits[me], total) / window))

  if cost > 0 and max_wait < math.huge and not (credits[me] >= math.min(need, most) and total >= need) then
    local reset_after = ahead + math.ceil((burst * window - total) / limit)
    local wait = math.max(1, wait_for(me, math.min(need, most)), math.ceil((need - total) / limit))
    local retry_after = cost > burst and -1 or ahead + wait
    return false, remaining, retry_after, reset_after, write(), math.max(reset_after, ahead + fill_time())
  end

  credits[me] = credits[me] - math.min(need, LONGEST + total)
  local reset_after = math.max(0, ahead + math.ceil((burst * window - total_units()) / limit))
  return true, math.max(0, remaining - cost), 0, reset_after, write(), math.max(reset_after, ahead + fill_time())
end

-- A charge expires gradually as units are added: at most what can be left of it is refunded.
local function refund(key, now, cost, receipt, only_last, rule_limit, rule_window, rule_burst, tenant)
  if rule_limit == 0 then return nil end
  read(key, now, rule_limit, rule_window, rule_burst)
  local missing = burst * window - total_units()
  local ends_at = at + math.ceil(missing / limit)
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  local units, me = math.min(cost * window, (receipt - now) * limit, missing), find(tenant) or find(0)
  if me then credits[me] = credits[me] + units else pool = pool + units end
  level()
  local reset_after = at - now + math.ceil((burst * window - total_units()) / limit)
  return write(), math.max(reset_after, at - now + fill_time())
end

return { step = step, refund = refund }
