-- Concurrency: permits are held under a name until they are released, or until their lease ends because the holder has
-- died. A request that waits for permits is in a queue as long as its lease is renewed: first come, first
-- served. See docs/adr/0053-the-queue-of-concurrency.md.
--
-- KEYS  the rule's key: a sorted set in a time of its own, which continues when the server's clock is set back, of
--         the clock, `@offset` (microseconds that this time is ahead of the server's), scored with the instant of the last
--         write - CLOCK;
--         held permits, `name/1` … `name/cost`, each scored with the instant at which its lease ends;
--         waiting requests, two members each: `name?`, scored below 0 by its position in the queue and its cost, and
--         `name!`, scored with QUEUE + the instant at which its lease ends.
--       Instants are microseconds since the epoch, in the time of the key. Its first member is the clock.
-- ARGV  now (microseconds), cost (permits), max_wait (microseconds; above 0, but not unlimited: may wait), the lease's
--       name, then the rule's parameters: limit (permits), lease (microseconds), queue (waiting requests)
-- Returns  allowed, remaining, delay (above 0: the request waits, and is sent again after this time) or retry_after (-1: never), reset_after,
--          state, expires_after

-- Maximum number of permits of one lease, and of expired permits that one call removes: no call moves more.
local MOST_MOVED = 1000

-- Maximum number of expired waiting requests that one call removes.
local MOST_PLACES = 250

-- Above every instant. A waiting request is scored by position * COSTS + cost - QUEUE, and the clock below all of them.
local QUEUE, COSTS, CLOCK = 2 ^ 52, 1024, 2 ^ 53
local FIRST_PLACE = string.format(INTEGER, -QUEUE)

-- The longest lease, with the slack of a clock (microseconds).
local LONGEST_LEASE = 366 * 86400000000 + SLACK

-- Returns: the end of the lease at a position in the sorted set, counted from the clock (0) or from the last (-1).
local function end_of(key, position)
  return tonumber(redis.call('ZRANGE', key, position, position, 'WITHSCORES')[2])
end

-- Returns: the current time of a key; its clock, and the score of the next member (nil if the key does not exist); the
-- instant of the last write; the clock before it was moved, since the server's clock was set back (otherwise nil).
local function read_clock(key, now, lease)
  local head = read_state(key, lease, pcall(redis.call, 'ZRANGE', key, 0, 1, 'WITHSCORES'))
  local clock = head[1]
  if not clock then return now, nil, nil, now end
  local offset = clock == '@0' and 0 or tonumber(string.match(clock, '^@(%d+)$'))
  local written = tonumber(head[2]) + CLOCK
  if not offset or written < 0 or written >= QUEUE then fail_unrecognised(key, lease) end
  local by = set_back(written - offset)
  if by == 0 then return now + offset, clock, tonumber(head[4]) or now, written end
  return written, '@' .. string.format(INTEGER, offset + by), tonumber(head[4]) or now, written, clock
end

-- Counts the members of a key.
--
-- `first` is the lowest score behind the clock, or 0 if it is unknown.
-- Returns: how many permits have expired and how many are held; when the last lease of these ends; how many requests
-- wait, and how many of these have not expired; when the last lease of all ends.
local function count(key, now, first, lease)
  local gone, held, places, waiting = 0, redis.call('ZCARD', key) - 1, 0, 0
  if first <= now then
    gone = redis.call('ZCOUNT', key, 0, string.format(INTEGER, now))
    held = held - gone
  end
  local last = held > 0 and end_of(key, -1) or now
  local last_of_all = last
  if last > QUEUE then
    places = redis.call('ZCOUNT', key, FIRST_PLACE, '(0')
    waiting = redis.call('ZCOUNT', key, '(' .. string.format(INTEGER, QUEUE + now), '+inf')
    held, last_of_all = held - 2 * places, last - QUEUE
    last = held > 0 and end_of(key, places + gone + held) or now
    last_of_all = math.max(last_of_all, last)
  end
  if held < 0 or waiting > places or last < now or last % 1 ~= 0 or last_of_all > now + LONGEST_LEASE then
    fail_unrecognised(key, lease)
  end
  return gone, held, last, places, waiting, last_of_all
end

-- Reads a key at the current time. If nothing is held and no request waits, it decides like a key that does not exist.
--
-- Returns: the start of a state to store, with the current time of the key; how many permits are held, and when the last
-- lease of these ends; how many requests wait; when the last lease of all ends.
local function open(key, now, lease)
  local own_now, clock, first, written, stale = read_clock(key, now, lease)
  if not clock then return { now = now, written = now, clock = '@0', gone = 0, places = 0 }, 0, now, 0, now end
  local gone, held, last, places, waiting, last_of_all = count(key, own_now, first, lease)
  if held == 0 and waiting == 0 then
    return { now = now, written = now, clock = '@0', gone = 0, places = 0, is_over = true }, 0, now, 0, now
  end
  local state = { now = own_now, written = math.max(written, own_now), clock = clock, stale = stale, gone = gone, places = places }
  return state, held, last, waiting, last_of_all
end

-- Returns: an estimate of the time until some permits are free, if permits are freed only by the end of leases.
local function free_after(key, state, held, last, needed, lease)
  needed = math.max(1, needed)
  if needed > held then return last - state.now + lease end
  return end_of(key, state.places + state.gone + needed) - state.now
end

-- Returns: the time until some permits are free, or a place in the queue, if permits are freed only by the end of leases.
local function until_free(key, state, held, last, waiting, needed, lease)
  -- By then, every request that waits now has got its permits or left the queue.
  if waiting > 0 then return last - state.now + lease end
  return free_after(key, state, held, last, needed, lease)
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

-- Returns: when the lease of a waiting request ends; nil if the request is not in the queue.
local function place_end(key, name)
  local score = redis.call('ZSCORE', key, name .. '!')
  return score and tonumber(score) - QUEUE or nil
end

-- Returns: the name and the cost at a position of the queue, and when its lease ends; nil beyond the end of the queue.
local function place_at(key, position, lease)
  local place = redis.call('ZRANGE', key, position + 1, position + 1, 'WITHSCORES')
  local score = tonumber(place[2])
  if not score or score >= 0 then return nil end
  local name = string.sub(place[1], 1, -2)
  return name, (score + QUEUE) % COSTS, place_end(key, name) or fail_unrecognised(key, lease)
end

-- Counts the requests from the head of the queue that can get free permits, up to the request with a name. Returns:
-- whether there are enough for all of them, or for the whole queue; the permits left; the number of requests that can
-- get permits; when the lease of the first request without permits ends.
local function walk(key, now, free, name, lease)
  local reached = 0
  for position = 0, MOST_MOVED - 1 do
    local each, cost, ends_at = place_at(key, position, lease)
    if not each or each == name then return true, free, reached end
    if ends_at > now then
      if cost > free then return false, free, reached, ends_at end
      free, reached = free - cost, reached + 1
    end
  end
  return false, free, reached, now + 1
end

-- Returns: the free permits that the queue leaves over; 0 if it needs all of them.
local function left_behind_queue(key, state, free, name, lease)
  if state.places == 0 then return free end
  local is_reached, left = walk(key, state.now, free, name, lease)
  return is_reached and left or 0
end

-- Returns: the score of a new request at the end of the queue.
local function order_behind(key, places, cost)
  local position = places > 0 and math.floor((end_of(key, places) + QUEUE) / COSTS) + 1 or 0
  return position * COSTS + cost - QUEUE
end

-- A request that may wait: it is in the queue until it gets its permits, and each call renews its lease.
local function step_in_turn(key, state, cost, name, limit, lease, most, held, last, waiting, last_of_all)
  local now, places = state.now, state.places
  local reset_after, expires_after = math.max(last - now, lease), math.max(last_of_all - now, lease)
  state.name, state.cost, state.ends_at, state.in_turn = name, cost, now + lease, true
  if places > 0 then state.queue = { limit = limit, lease = lease } end
  if held > 0 and held_by(key, now, name) then
    return true, waiting > 0 and 0 or math.max(0, limit - held), 0, reset_after, state, expires_after
  end

  local own = places > 0 and redis.call('ZSCORE', key, name .. '?')
  local others = own and (place_end(key, name) or 0) > now and waiting - 1 or waiting
  local is_reached, left, reached, blocked_until = true, limit - held, 0, nil
  if places > 0 then is_reached, left, reached, blocked_until = walk(key, now, left, name, lease) end
  if is_reached and cost <= left then
    return true, others > reached and 0 or left - cost, 0, reset_after, state, expires_after
  end

  if not own and waiting >= most then
    return false, 0, until_free(key, state, held, last, waiting, held + cost - limit, lease), last - now
  end
  local ahead = math.min(own and redis.call('ZCOUNT', key, FIRST_PLACE, '(' .. own) or places, others)
  local delay = free_after(key, state, held, last, held + ahead + cost - limit, lease)
  if blocked_until and cost <= limit - held then delay = math.min(delay, blocked_until - now) end
  state.order = tonumber(own or nil) or order_behind(key, places, cost)
  return true, 0, delay, reset_after, state, expires_after
end

local function step(key, now, cost, max_wait, name, limit, lease, most)
  if limit == 0 then return false, 0, -1, 0 end

  local state, held, last, waiting, last_of_all = open(key, now, lease)
  if cost > 0 and cost <= math.min(limit, MOST_MOVED) and max_wait > 0 and max_wait < math.huge then
    return step_in_turn(key, state, cost, name, limit, lease, most, held, last, waiting, last_of_all)
  end
  now = state.now
  local remaining = left_behind_queue(key, state, math.max(0, limit - held), name, lease)
  local reset_after, expires_after = last - now, last_of_all - now

  if cost > MOST_MOVED or (cost > remaining and max_wait < math.huge) then
    if cost > math.min(limit, MOST_MOVED) then return false, remaining, -1, reset_after end
    return false, remaining, until_free(key, state, held, last, waiting, held + cost - limit, lease), reset_after
  end

  if cost > 0 then
    reset_after, expires_after = math.max(reset_after, lease), math.max(expires_after, lease)
    state.name, state.cost, state.ends_at = name, cost, now + lease
  end
  return true, math.max(0, remaining - cost), 0, reset_after, state, expires_after
end

-- Releases permits, or leaves the queue. Free permits then go to waiting requests.
local function refund(key, now, _, name, _, limit, lease)
  local state, held, last, waiting, last_of_all = open(key, now, lease)
  now = state.now
  local cost = held > 0 and held_by(key, now, name) or 0
  if cost == 0 then
    local place_ends_at = waiting > 0 and place_end(key, name)
    if not place_ends_at or place_ends_at <= now then return nil end
    waiting = waiting - 1
  end
  state.name, state.cost, state.is_over = name, cost, held == cost and waiting == 0
  if state.places == 0 then return state, math.max(1, last - now) end
  state.queue = { limit = limit, lease = lease }
  return state, math.max(last_of_all - now, lease)
end

-- Renews the lease of permits, or of a waiting request.
local function renew(key, now, name, limit, lease)
  local state, held, _, waiting, last_of_all = open(key, now, lease)
  now = state.now
  state.name, state.ends_at = name, now + lease
  state.cost = held > 0 and held_by(key, now, name)
  if not state.cost then
    local order = waiting > 0 and redis.call('ZSCORE', key, name .. '?')
    if not order or (place_end(key, name) or 0) <= now then return nil end
    state.order = tonumber(order)
  end
  return state, math.max(last_of_all - now, lease)
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

-- Reports to the process whose permits these are, which is the start of their name. A missing right to the channel is not
-- an error.
local function report_turn(key, name)
  local prefix = string.match(key, '^[^{]*')
  redis.pcall('PUBLISH', prefix .. 'grants:' .. string.match(name, '^[^-]*'), prefix .. name)
end

local function leave(key, name)
  redis.call('ZREM', key, name .. '?', name .. '!')
end

-- Renews the lease of a waiting request, if it is in the queue.
local function renew_place(key, name, ends_at)
  redis.call('ZADD', key, 'XX', string.format(INTEGER, QUEUE + ends_at), name .. '!')
end

local function remove_expired_places(key, now)
  local until_now = string.format(INTEGER, QUEUE + now)
  local range = string.format(INTEGER, QUEUE)
  for _, place in ipairs(redis.call('ZRANGE', key, range, until_now, 'BYSCORE', 'LIMIT', 0, MOST_PLACES)) do
    leave(key, string.sub(place, 1, -2))
  end
end

-- Gives free permits to the requests at the head of the queue.
local function advance(key, own, now, limit, lease)
  local _, held = count(key, now, 0, lease)
  local free, moved, ends_at = limit - held, 0, string.format(INTEGER, now + lease)
  while moved < MOST_MOVED do
    local name, cost, place_ends_at = place_at(key, 0, lease)
    if not name then return end
    if place_ends_at > now then
      if cost > free then return end
      redis.call('ZADD', key, permits_of(name, cost, ends_at))
      free, moved = free - cost, moved + cost
      if name ~= own then report_turn(key, name) end
    end
    leave(key, name)
    moved = moved + 1
  end
end

local function remove_gone(key, gone, places)
  if gone > 0 then
    redis.call('ZREMRANGEBYRANK', key, places + 1, places + math.min(gone, MOST_MOVED))
  end
end

-- Adds the permits of a name, or its entry in the queue; removes them without `ends_at`. Sets the clock.
local function put_own(key, state)
  local name, ends_at, written = state.name, state.ends_at, string.format(INTEGER, state.written - CLOCK)
  if state.order then
    local order, place_ends_at = string.format(INTEGER, state.order), string.format(INTEGER, QUEUE + ends_at)
    redis.call('ZADD', key, written, state.clock, order, name .. '?', place_ends_at, name .. '!')
  elseif ends_at then
    redis.call('ZADD', key, written, state.clock, permits_of(name, state.cost, string.format(INTEGER, ends_at)))
  elseif state.cost > 0 then
    redis.call('ZREM', key, permits_of(name, state.cost))
  end
  if state.queue and not state.order then leave(key, name) end
  if not ends_at then redis.call('ZADD', key, written, state.clock) end
end

-- Replaces the clock of a key, which continues from the last write after the server's clock was set back.
local function move_clock(key, state)
  redis.call('ZADD', key, string.format(INTEGER, state.written - CLOCK), state.clock)
  redis.call('ZREM', key, state.stale)
end

-- Adds permits before expired ones are removed: a server out of memory rejects the ZADD, so that the request fails
-- uncharged. Expired permits under the name of a request that may wait are removed first. Expired permits beyond
-- the maximum are not counted, and later calls remove them.
local function save(key, state, expires_ms)
  if state.is_over then redis.call('UNLINK', key) end
  if state.is_over and not state.ends_at then return end
  if state.stale then move_clock(key, state) end
  local queue = state.queue
  local is_first = not queue and not state.in_turn
  if is_first and state.name then put_own(key, state) end
  if state.name then remove_gone(key, state.gone, state.places) end
  if queue then
    if state.ends_at then renew_place(key, state.name, state.ends_at) end
    remove_expired_places(key, state.now)
    if not state.ends_at then put_own(key, state) end
    advance(key, state.name, state.now, queue.limit, queue.lease)
  end
  if not is_first and state.ends_at then put_own(key, state) end
  redis.call('PEXPIRE', key, expires_ms)
end

return { step = step, refund = refund, renew = renew, save = save, leases = true }
