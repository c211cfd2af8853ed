-- Sliding window log: stores every allowed request, and allows at most `limit` permits in any window.
--
-- KEYS  the rule's key: a list of 14-byte entries, oldest first: the instant of a request (microseconds since the
--       epoch), and the running total of permits including it. The first entry is only the base of the running total:
--       an expired request, or zeros. It also contains the longest window in use: window (microseconds), limit
--       (permits), and until when it is in use (microseconds since the epoch; 0: for one window after the last
--       request), see docs/adr/0028-changed-windows-of-a-log.md. Without these fields, it is the rule's own window.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

local ENTRY, KEPT = '>I7I7', '>I7I4I7'
local MOST_TOTAL = 2 ^ 53 - 1

-- Returns: instant and total of an entry; infinity for both past the end.
local function entry(key, index)
  local stored = redis.call('LINDEX', key, index)
  if not stored then return math.huge, math.huge end
  local instant, total = struct.unpack(ENTRY, stored)
  return instant, total
end

-- Returns: the longest window in use, its limit, until when it is in use, and the total of the base.
local function kept_for(key, limit, window)
  local stored = redis.call('LINDEX', key, 0)
  local _, total = struct.unpack(ENTRY, stored)
  if #stored <= 14 then return window, limit, 0, total end
  local kept_window, kept_limit, kept_until = struct.unpack(KEPT, stored, 15)
  return kept_window, kept_limit, kept_until, total
end

-- Returns: the first index above `low` whose instant (field 1) or total (field 2) is at least `bound`.
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

-- Returns: the result of `step` for an empty log, or one whose requests have all expired.
local function start(exists, now, cost, max_wait, limit, window)
  if cost > limit and max_wait < math.huge then return false, limit, -1, 0 end
  if cost == 0 then return true, limit, 0, 0 end
  local head = struct.pack(ENTRY, 0, 0) .. struct.pack(KEPT, window, limit, 0)
  local state = { exists = exists, head = head, pushed = { struct.pack(ENTRY, now, cost) } }
  return true, math.max(0, limit - cost), 0, window, state, window
end

local function step(key, now, cost, max_wait, _, limit, window)
  if limit == 0 then return false, 0, -1, 0 end

  local last_instant, last_total = entry(key, -1)
  if last_total == math.huge then return start(false, now, cost, max_wait, limit, window) end
  local kept_window, kept_limit, kept_until, base_total = kept_for(key, limit, window)
  local latest, ends_at = math.max(now, last_instant), kept_until
  if kept_until == 0 then ends_at = last_instant + kept_window end
  local is_longer = kept_window > window and latest < ends_at
  if latest >= last_instant + kept_window or (not is_longer and last_instant <= latest - window) then
    return start(true, now, cost, max_wait, limit, window)
  end

  local base = last_instant <= latest - window and -1 or first_reaching(key, 0, 1, latest - window + 1) - 1
  local base_instant = 0
  if base ~= 0 then base_instant, base_total = entry(key, base) end
  local used = last_total - base_total
  local first, first_total, most, used_longer = base, base_total, limit, used
  if is_longer then
    first = first_reaching(key, 0, 1, latest - kept_window + 1) - 1
    base_instant, first_total = entry(key, first)
    most, used_longer = math.max(limit, kept_limit), last_total - first_total
  end
  local remaining = math.max(0, math.min(limit - used, most - used_longer))

  local reset_after = used > 0 and last_instant + window - now or 0
  if cost > remaining and max_wait < math.huge then
    if cost > limit then return false, remaining, -1, reset_after end
    local retry_after = 0
    if cost > limit - used then
      retry_after = entry(key, first_reaching(key, base, 2, last_total + cost - limit)) + window - now
    end
    if is_longer and cost > most - used_longer then
      local freeing = first_reaching(key, first, 2, last_total + cost - most)
      retry_after = math.max(retry_after, math.min(entry(key, freeing) + kept_window, ends_at) - now)
    end
    return false, remaining, retry_after, math.max(reset_after, retry_after)
  end

  if cost == 0 then return true, remaining, 0, reset_after end
  local for_window, for_limit, for_until = window, limit, 0
  if is_longer then for_window, for_limit, for_until = kept_window, kept_limit, ends_at end
  local state = { first = first, pushed = { struct.pack(ENTRY, latest, math.min(MOST_TOTAL, last_total + cost)) } }
  if first > 0 or for_window ~= kept_window or for_limit ~= kept_limit or for_until ~= kept_until then
    state.head = struct.pack(ENTRY, base_instant, first_total) .. struct.pack(KEPT, for_window, for_limit, for_until)
  end
  return true, math.max(0, remaining - cost), 0, latest + window - now, state, latest + for_window - now
end

-- Subtracts the cost from the request and from all later totals, unless there are too many of them.
local function refund(key, now, cost, receipt, only_last, limit, window)
  local instant = receipt - window
  local last_instant = entry(key, -1)
  if only_last or receipt <= now or last_instant == math.huge then return nil end
  local expires_at = last_instant + (kept_for(key, limit, window))
  local index = first_reaching(key, 0, 1, instant)
  if expires_at <= now or (entry(key, index)) ~= instant then return nil end
  local count = redis.call('LLEN', key) - index
  if count > rewritable then return nil end
  rewritable = rewritable - count

  local _, before = entry(key, index - 1)
  local rewritten = {}
  for _, stored in ipairs(redis.call('LRANGE', key, index, -1)) do
    local at, total = struct.unpack(ENTRY, stored)
    rewritten[#rewritten + 1] = struct.pack(ENTRY, at, math.max(before, total - cost))
  end
  return { index = index, pushed = rewritten }, expires_at - now
end

-- Pushes the request before expired ones are removed: a server out of memory rejects the push, so that the request
-- fails uncharged.
local function save(key, state, expires_ms)
  local head, pushed, first, index = state.head, state.pushed, state.first, state.index
  if index then redis.call('LTRIM', key, 0, index - 1) end
  if not (first or index) then
    if state.exists then redis.call('UNLINK', key) end
    redis.call('RPUSH', key, head, pushed[1])
  else
    redis.call('RPUSH', key, unpack(pushed))
    if first and first > 0 then redis.call('LTRIM', key, first, -1) end
    if head then redis.call('LSET', key, 0, head) end
  end
  redis.call('PEXPIRE', key, expires_ms)
end

return { step = step, refund = refund, save = save }
