-- Sliding window log: stores every allowed request, and allows at most `limit` permits in any window.
--
-- KEYS  the rule's key: a list of 14-byte entries, oldest first: the instant of a request (microseconds since the
--       epoch), and the running total of permits including it. The first entry is only the base of the running total:
--       an expired request, or zeros. The last entry holds permits; its instant is that of the last write.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds), then the rule's parameters:
--       limit (permits), window (microseconds)
-- Returns  allowed, remaining, delay or retry_after (-1: never), reset_after, state, expires_after

local ENTRY, ENTRY_LENGTH = '>I7I7', 14
local BASE = struct.pack(ENTRY, 0, 0)
local MOST_TOTAL = 2 ^ 53 - 1

-- The entries that are read most often: the server takes longer for a number than for a text.
local OFTEN = { [0] = '0', '1', '2' }

-- The length of the window, for the expiry of a list that is not recognised.
local log_window

-- Returns: instant and total of a stored entry; infinity for both past the end.
local function decode(key, stored)
  if not stored then return math.huge, math.huge end
  if #stored ~= ENTRY_LENGTH then fail_unrecognised(key, log_window) end
  local instant, total = struct.unpack(ENTRY, stored)
  if instant > MOST_TOTAL or total > MOST_TOTAL then fail_unrecognised(key, log_window) end
  return instant, total
end

local function entry(key, index)
  return decode(key, redis.call('LINDEX', key, OFTEN[index] or index))
end

-- Returns: the last entry, which is read first: the key may have a value that is no list.
local function last_entry(key, window)
  log_window = window
  return decode(key, read_state(key, window, pcall(redis.call, 'LINDEX', key, '-1')))
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

-- Returns: the result of `step` for a log whose requests have all expired, or in which `used` permits count as taken now.
local function start(exists, used, now, cost, max_wait, limit, window)
  local remaining, reset_after = math.max(0, limit - used), used > 0 and window or 0
  if cost > remaining and max_wait < math.huge then
    return false, remaining, cost > limit and -1 or window, reset_after
  end
  if used + cost == 0 then return true, limit, 0, 0 end
  local pushed = { BASE }
  if used > 0 then pushed[2] = struct.pack(ENTRY, now, used) end
  if cost > 0 then pushed[#pushed + 1] = struct.pack(ENTRY, now, math.min(MOST_TOTAL, used + cost)) end
  return true, math.max(0, remaining - cost), 0, window, { replaces = exists, pushed = pushed }, window
end

-- Returns: the index of the last entry that does not count at an instant, and how many permits count then.
local function base_at(key, instant, last_total, window)
  local base = first_reaching(key, 0, 1, instant - window + 1) - 1
  local _, base_total = entry(key, base)
  if base_total >= last_total and last_total < MOST_TOTAL then fail_unrecognised(key, window) end
  return base, last_total - base_total
end

local function step(key, now, cost, max_wait, _, limit, window)
  if limit == 0 then return false, 0, -1, 0 end

  local last_instant, last_total = last_entry(key, window)
  if last_total == math.huge then return start(false, 0, now, cost, max_wait, limit, window) end
  if last_instant <= now - window then return start(true, 0, now, cost, max_wait, limit, window) end
  local latest = math.max(now, last_instant)
  local base, used = base_at(key, latest, last_total, window)
  if set_back(last_instant) > 0 then return start(true, used, now, cost, max_wait, limit, window) end

  local remaining = math.max(0, limit - used)
  local reset_after = used > 0 and last_instant + window - now or 0
  if cost > remaining and max_wait < math.huge then
    if cost > limit then return false, remaining, -1, reset_after end
    local freeing = first_reaching(key, base, 2, last_total + cost - limit)
    return false, remaining, entry(key, freeing) + window - now, reset_after
  end

  if cost == 0 then return true, remaining, 0, reset_after end
  reset_after = latest + window - now
  local state = { first = base, pushed = { struct.pack(ENTRY, latest, math.min(MOST_TOTAL, last_total + cost)) } }
  return true, math.max(0, remaining - cost), 0, reset_after, state, reset_after
end

-- Returns: the result of `refund` if the requests after those of a total hold nothing any more: they leave the log.
local function drop_after(key, now, total, window)
  local _, base_total = entry(key, 0)
  if total <= base_total then return { replaces = true, pushed = { BASE } }, 0 end
  local last = first_reaching(key, 0, 2, total)
  return { last = last }, math.max(0, entry(key, last) + window - now)
end

-- Subtracts the cost from the request and from all later totals, unless there are too many of them, or too many for this
-- call.
-- Returns: state, expires_after; nil if there is nothing to refund, or nil and 'later'
local function refund(key, now, cost, receipt, only_last, _, window)
  if only_last or receipt <= now then return nil end
  local last_instant, last_total = last_entry(key, window)
  if last_total == math.huge or set_back(last_instant) > 0 then return nil end
  local instant = receipt - window
  local index = first_reaching(key, 0, 1, instant)
  if (entry(key, index)) ~= instant then return nil end
  local _, before = entry(key, index - 1)
  if last_total - cost <= before then return drop_after(key, now, before, window) end
  local count = redis.call('LLEN', key) - index
  if count > rewritable then return nil, count <= MOST_REWRITTEN and 'later' or nil end
  rewritable = rewritable - count

  local rewritten = {}
  for _, stored in ipairs(redis.call('LRANGE', key, index, -1)) do
    local at, total = decode(key, stored)
    rewritten[#rewritten + 1] = struct.pack(ENTRY, at, math.max(before, total - cost))
  end
  return { last = index - 1, pushed = rewritten }, last_instant + window - now
end

-- Pushes the request before expired ones are removed: a server out of memory rejects the push, so that the request
-- fails uncharged.
local function save(key, state, expires_ms)
  local pushed, first, last = state.pushed, state.first, state.last
  if state.replaces then redis.call('UNLINK', key) end
  if last then redis.call('LTRIM', key, 0, last) end
  if pushed then redis.call('RPUSH', key, unpack(pushed)) end
  if first and first > 0 then redis.call('LTRIM', key, first, '-1') end
  redis.call('PEXPIRE', key, string.format(INTEGER, expires_ms))
end

return { step = step, refund = refund, save = save }
