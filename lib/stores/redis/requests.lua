-- Reads the requests of a call one by one, and writes the results into the reply.
--
-- KEYS, ARGV, Returns  see decide.lua
--
-- @needs protocol

local FIELDS = 3

local reply, reply_end, has_failed

-- Further values of hits, to follow the results, three each, and their number: the position of the hit in the reply,
-- guaranteed, borrowed (the part of a subject); or the negative position, the time until one permit is available
-- (microseconds), 0; or the negative position, -1, the thresholds that were crossed (bits).
local parts, part_count = {}, 0
local next_argument, next_key

-- The current run of requests: how many of them are left, and what they have in common. For a prefetch, `kept` is how
-- long to store the receipts (microseconds). `plain`: whether `decide_plain` can decide them.
local left, count, width, charge, peeks, max_wait, kept, plain
local hit_rule, hit_cost, hit_lease, hit_waits = {}, {}, {}, {}

-- The current request: the position of its part of the reply, and of its keys.
local start, first_key

local function rewind()
  next_argument, next_key, reply_end, left = 1, 1, 1, 0
end

local function begin_requests(...)
  begin_call(...)
  reply, part_count = { now, 0, 0, 0 }, 0 -- as large as the reply for one hit, so that the table does not grow
  has_failed = false
  rewind()
end

local function read_run()
  local at, ask = next_argument + 2, 0
  left, count, max_wait, kept = arguments[next_argument], arguments[next_argument + 1], 0, nil
  if count < 0 then
    count, ask, max_wait, at = -count, arguments[at], arguments[at + 1], at + 2
    if ask == 2 then kept, max_wait = max_wait, 0 end
  end
  width, plain = kept and 2 * count or count, ask == 0 and max_wait == 0 and not is_full
  for hit = 1, count do
    local rule = rules[arguments[at]]
    hit_rule[hit], hit_cost[hit], hit_lease[hit], hit_waits[hit], at = rule, arguments[at + 1], nil, false, at + 2
    if rule.leases then hit_lease[hit], hit_waits[hit], at = arguments[at], arguments[at + 1] == 1, at + 2 end
    if rule.block then width = width + 1 end
    if not rule.plain or hit_cost[hit] == 0 then plain = false end
  end
  if max_wait < 0 then max_wait = math.huge end
  next_argument, charge, peeks = at, ask == 0 or ask == 2, ask == 3
end

-- Returns: whether there is another request.
local function next_request()
  if left == 0 then
    if not arguments[next_argument] then return false end
    read_run()
  end
  left = left - 1
  start, reply_end = reply_end + 1, reply_end + FIELDS * count
  first_key, next_key = next_key, next_key + width
  return true
end

local function add_part(slot, one, other)
  parts[part_count + 1], parts[part_count + 2], parts[part_count + 3] = slot, one, other
  part_count = part_count + 3
end

local function report(hit, allowed, remaining, wait, reset_after, guaranteed, borrowed)
  local slot = start + FIELDS * (hit - 1)
  if not allowed then wait = wait < 0 and -1 or -2 - wait end
  reply[slot], reply[slot + 1], reply[slot + 2] = remaining, wait, reset_after
  if guaranteed then add_part(slot, guaranteed, borrowed) end
end

-- Returns: the wait that was reported for a hit.
local function wait_of(hit)
  return reply[start + FIELDS * (hit - 1) + 1]
end

-- Appends the further values to the reply. The last part of a hit counts.
local function append_parts()
  local last = #reply
  for index = 1, part_count do reply[last + index] = parts[index] end
end

-- Returns: the reply as a string of doubles, which a client reads faster than a list; the list if a request has failed.
local function packed_reply()
  return has_failed and reply or struct.pack(format_of(#reply), unpack(reply))
end

local function fail(failure)
  has_failed = true
  for slot = start, start + FIELDS * count - 1 do reply[slot] = 0 end
  reply[start] = type(failure) == 'table' and failure.err or tostring(failure)
end

-- Fails every request from a position in the reply on.
local function fail_from(slot, failure)
  rewind()
  while next_request() do
    if start >= slot then fail(failure) end
  end
end
