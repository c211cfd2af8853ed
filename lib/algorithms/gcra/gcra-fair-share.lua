-- Fair shares of one limit: all tenants of a rule have one key. What is added per microsecond is divided by weight among
-- those that miss permits (water-filling, which is max-min fair), and each has a guaranteed part.
--
-- KEYS  the rule's key: a string, `shares`, then doubles (so that many are packed at once): at, pool, and for each tenant
--       id, load, missing, due, seen:
--       at       up to when units were added (microseconds since the epoch)
--       pool     units that were added, but are too few to be divided; a unit is 1/window permit, and each microsecond
--                adds `limit`
--       id       the tenant: negative if its weight is its own; 0 for those that share one place
--       load     weight + 1024 taken: permits that it has taken in the window of `seen`, at most 2^42; windows start at
--                multiples of their length
--       missing  units that it has taken and that have not been added again
--       due      when its guaranteed part is whole again (microseconds since the epoch)
--       seen     when its last request arrived (microseconds since the epoch)
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds), burst (permits), places (the most tenants), tenant (its id), weight
-- Returns  allowed, remaining, retry_after (-1: never), reset_after, state, expires_after, guaranteed, borrowed; a denial
--          also has a state, so that the tenant counts as one that sends requests
--       guaranteed     permits per window that the tenant gets whatever the others take
--       borrowed       permits beyond these that it has taken in this window
--
-- @needs rate

-- Maximum number of tenants with a place of their own, besides those with a weight of their own, and the windows without
-- a request after which a tenant loses its place.
local MOST_TENANTS, KEPT_WINDOWS = 100, 10

-- The start of a state, and the number of its doubles before those of the tenants, and for each of them.
local MAGIC, HEAD, EACH = 'shares', 2, 5

-- More than any weight, and the most permits that are counted as taken: their product is exact.
local TAKEN, MOST_TAKEN = 1024, 2 ^ 42

-- The shares at the current time: the tenants are in parallel lists. Then what all tenants together miss and weigh, and how
-- many units they may take beyond their balance: a permit for each place, without those that are left to the tenants that
-- have a place and miss less than a permit.
local at, pool, count, total, sum_weights, spare
local ids, weights, loads, missing, due, seen = {}, {}, {}, {}, {}, {}

-- The parameters of the rule, the time in which it is full again if it was used up, and how long a place is kept after its
-- last request (microseconds).
local limit, window, burst, places, fill_time, keep_time

-- The state that was written last, which need not be read again.
local written

-- Divides the pool by weight among the tenants that miss units. Its loops call no function, since these would cost most.
local function level()
  total = -pool
  for index = 1, count do total = total + missing[index] end
  if total <= 0 then
    for index = 1, count do missing[index] = 0 end
    pool, total = 0, 0
  end
  while pool > 0 do
    local units = 0
    for index = 1, count do
      local weight, lacks = weights[index], missing[index]
      units = units + (weight < lacks and weight or lacks)
    end
    if pool < units then return end
    local each = math.floor(pool / units)
    for index = 1, count do
      local given, lacks = each * weights[index], missing[index]
      if given > lacks then given = lacks end
      missing[index], pool = lacks - given, pool - given
    end
  end
end

-- Removes the tenants that have lost their places.
local function forget_idle()
  local idle_since, kept = at - keep_time, 0
  sum_weights, spare = 0, (burst + places) * window
  for index = 1, count do
    local lacks = missing[index]
    if lacks > 0 or seen[index] > idle_since then
      kept, sum_weights, spare = kept + 1, sum_weights + weights[index], spare - (lacks > window and lacks or window)
      if kept < index then
        ids[kept], weights[kept], loads[kept] = ids[index], weights[index], loads[index]
        missing[kept], due[kept], seen[kept] = lacks, due[index], seen[index]
      end
    end
  end
  count = kept
end

local function unpack_state(key, stored)
  local doubles = (#stored - #MAGIC) / 8
  if string.sub(stored, 1, #MAGIC) ~= MAGIC or doubles < HEAD or doubles % EACH ~= HEAD then
    fail_unrecognised(key, window)
  end
  local values = { struct.unpack(format_of(doubles), stored, #MAGIC + 1) }
  at, pool, count = values[1], values[2], (doubles - HEAD) / EACH
  for index = 1, count do
    local first = HEAD + EACH * (index - 1)
    ids[index], loads[index], missing[index] = values[first + 1], values[first + 2], values[first + 3]
    due[index], seen[index], weights[index] = values[first + 4], values[first + 5], values[first + 2] % TAKEN
  end
end

-- Reads the shares that apply now, without tenants that have lost their places.
local function read(key, now, ...)
  limit, window, burst, places = ...
  fill_time = math.ceil(burst * window / limit)
  keep_time = math.max(KEPT_WINDOWS * window, fill_time)
  local stored = get(key)
  local is_current = stored and stored == written and now <= at and at - now <= SLACK
  if not stored then
    at, pool, count = now, 0, 0
  elseif stored ~= written then
    unpack_state(key, stored)
  end
  written = nil -- until the shares are written
  if is_current then return end
  local by = set_back(at)
  at = at - by
  for index = 1, by > 0 and count or 0 do
    due[index], seen[index] = due[index] - by, seen[index] - by
  end
  pool, at = pool + math.max(0, now - at) * limit, math.max(now, at)
  level()
  forget_idle()
end

-- Returns: the place of a tenant; nil if it has none.
local function place_of(tenant)
  for index = 1, count do
    local id = ids[index]
    if id == tenant or id == -tenant then return index end
  end
  return nil
end

-- Returns: the place of a tenant, or that of all others if it has none; nil if there is neither.
local function find(tenant)
  return place_of(tenant) or tenant > 0 and place_of(0) or nil
end

-- Returns: the place of the tenant of a request, and notes that it sends one. A new tenant misses nothing, and has a place
-- when its first request is charged.
local function join(tenant, weight)
  local me, strangers = place_of(tenant), 0
  if not me and tenant > 0 then
    for index = 1, count do
      if ids[index] > 0 then strangers = strangers + 1 end
    end
    if strangers >= MOST_TENANTS then
      tenant = 0
      me = place_of(tenant)
    end
  end
  if not me then
    me = count + 1
    weights[me], loads[me], missing[me], due[me], seen[me] = 0, 0, 0, at, at
  end
  loads[me], sum_weights = loads[me] - weights[me] + weight, sum_weights - weights[me] + weight
  if seen[me] < at - at % window then loads[me] = weight end
  ids[me], weights[me], seen[me] = tenant, weight, at
  return me
end

-- Returns: how many units a tenant can miss some time from now, and until when: its part of the burst among those that
-- have then sent requests lately, at least a permit.
local function hold_of(me, after)
  local since, active, hold_until = at + after - fill_time, weights[me], math.huge
  for index = 1, count do
    local lately = seen[index] - since
    if lately > 0 and index ~= me then
      active = active + weights[index]
      if lately < hold_until then hold_until = lately end
    end
  end
  return math.max(window, math.floor(burst * window / active) * weights[me]), after + hold_until
end

-- Returns: the time in which the guaranteed part of a tenant adds some units (microseconds).
local function time_of(units, me)
  return math.min(LONGEST, math.ceil(units * sum_weights / (limit * weights[me])))
end

-- Returns: the time until some units are within the guaranteed part of a tenant: its part of the limit among all places,
-- with a tolerance of its part of the burst, at least these units. While units are spare, it may take them even if others
-- have taken the whole burst.
local function guaranteed_after(me, units)
  local tolerance = math.max(0, fill_time - time_of(units, me))
  local owed = math.max(0, due[me] - at - tolerance)
  if spare > 0 then return owed end
  local most = (burst + places - count) * window - sum_weights -- the pool is less than the weights
  return math.max(owed, math.ceil((total + 1 - most) / limit))
end

-- Returns: the time after which a tenant misses at most `most` units if no request arrives (microseconds).
local function filled_after(me, most)
  if missing[me] <= most then return 0 end
  local reached, units = math.ceil((missing[me] - most) / weights[me]), -pool
  for index = 1, count do
    local given, lacks = reached * weights[index], missing[index]
    units = units + (given < lacks and given or lacks)
  end
  return math.ceil(units / limit)
end

-- Returns: the time until some units fit what a tenant can miss, which grows as others become idle (microseconds).
local function fits_after(me, units, hold, hold_until)
  local after = 0
  while true do
    local filled = filled_after(me, math.max(hold, units) - units)
    if filled <= hold_until then return math.max(after, filled) end
    after = hold_until
    hold, hold_until = hold_of(me, after)
  end
end

-- Returns: the time until a tenant that keeps its place misses nothing, and so may take a permit in any case.
local function whole_after(me, units)
  if units > window or me > count then return math.huge end
  local filled = filled_after(me, window - units)
  return filled < keep_time and filled or math.huge
end

-- Returns: the time until a tenant may take some units if no request arrives (microseconds); 0 if it may now.
local function wait_for(me, units, hold, hold_until)
  local own = math.min(whole_after(me, units), guaranteed_after(me, units))
  local above = math.ceil((total + units - burst * window) / limit)
  if own <= above then return own end
  return math.min(own, math.max(0, above, fits_after(me, units, hold, hold_until)))
end

-- Returns: the permits that a tenant can take one after the other.
local function remaining_of(me, hold, hold_until)
  local held = math.min(hold - missing[me], burst * window - total)
  local tolerance = fill_time - math.max(0, due[me] - at)
  local guaranteed = math.min(math.floor(tolerance / time_of(window, me)), math.ceil(spare / window))
  local permits = math.max(math.floor(held / window), guaranteed)
  if permits > 0 then return permits end
  return wait_for(me, window, hold, hold_until) == 0 and 1 or 0
end

-- Returns: the permits that a tenant has taken in this window.
local function taken_of(me)
  return (loads[me] - weights[me]) / TAKEN
end

-- Sets the permits that a tenant has taken in this window.
local function set_taken(me, taken)
  loads[me] = weights[me] + TAKEN * math.max(0, math.min(taken, MOST_TAKEN))
end

-- Charges a tenant. Permits that it borrows do not make its guaranteed part later than if that were used up.
local function charge(me, cost)
  local units = math.min(cost * window, LONGEST + burst * window - total)
  local owed, more = math.max(0, due[me] - at), time_of(units, me)
  due[me] = at + math.min(owed + more, math.max(owed, more, fill_time))
  spare = spare + (me > count and 0 or math.max(missing[me], window)) - math.max(missing[me] + units, window)
  missing[me], total, count = missing[me] + units, total + units, math.max(count, me)
  set_taken(me, taken_of(me) + cost)
end

-- Returns: the part of a tenant: guaranteed, borrowed (permits).
local function part_of(me)
  local guaranteed = math.floor(limit * weights[me] / sum_weights)
  return guaranteed, math.max(0, taken_of(me) - guaranteed)
end

-- Returns: how long until nothing is missing (microseconds).
local function reset_after_of(now)
  return at - now + math.ceil(total / limit)
end

-- Returns: the state to store, and when it expires.
local function write(now)
  local values = { at, pool }
  for index = 1, count do
    local first = HEAD + EACH * (index - 1)
    values[first + 1], values[first + 2], values[first + 3] = ids[index], loads[index], missing[index]
    values[first + 4], values[first + 5] = due[index], seen[index]
  end
  written = MAGIC .. struct.pack(format_of(#values), unpack(values))
  return written, math.max(at - now + keep_time, reset_after_of(now))
end

local function step(key, now, cost, max_wait, _, rule_limit, rule_window, rule_burst, rule_places, tenant, weight)
  if rule_limit == 0 then return false, 0, -1, 0 end

  read(key, now, rule_limit, rule_window, rule_burst, rule_places)
  local me = join(tenant, weight)
  local hold, hold_until = hold_of(me, 0)
  local wait = wait_for(me, cost * window, hold, hold_until)
  local is_denied = cost > 0 and max_wait < math.huge and (cost > burst or wait > 0)
  if not is_denied and cost > 0 then charge(me, cost) end
  local remaining, reset_after, state, expires_after = remaining_of(me, hold, hold_until), reset_after_of(now), write(now)
  local retry_after = not is_denied and 0 or cost > burst and -1 or at - now + wait
  local guaranteed, borrowed = part_of(me)
  if me > count then sum_weights = sum_weights - weights[me] end
  return not is_denied, remaining, retry_after, reset_after, state, expires_after, guaranteed, borrowed
end

-- A charge expires gradually as units are added: at most what can be left of it is refunded.
local function refund(key, now, cost, receipt, only_last, rule_limit, rule_window, rule_burst, rule_places, tenant)
  if rule_limit == 0 then return nil end
  read(key, now, rule_limit, rule_window, rule_burst, rule_places)
  local ends_at = now + reset_after_of(now)
  if receipt <= now or ends_at <= now or (only_last and ends_at ~= receipt) then return nil end

  local units, me = math.min(cost * window, (receipt - now) * limit, total), find(tenant)
  pool = pool + units
  if me then
    local given = math.min(units, missing[me])
    missing[me], pool, due[me] = missing[me] - given, pool - given, due[me] - time_of(units, me)
    set_taken(me, taken_of(me) - cost)
  end
  level()
  return write(now)
end

-- Refills a tenant, as if it had taken nothing. The others keep what they have.
local function clear(key, now, rule_limit, rule_window, rule_burst, rule_places, tenant)
  if rule_limit == 0 then return nil end
  read(key, now, rule_limit, rule_window, rule_burst, rule_places)
  local me = find(tenant)
  if not me then return nil end
  missing[me], due[me], loads[me] = 0, at, weights[me]
  level()
  return write(now)
end

return { step = step, refund = refund, clear = clear }
