-- Reads the requests of a call one by one, and writes what became of them into the reply.
--
-- KEYS, ARGV, Returns  see decide.lua
--
-- @needs protocol

local FIELDS = 3

local reply, reply_end = { now }, 1
local next_argument, last_argument, next_key = 1, #arguments, 1

-- The run of requests that is decided now: how many are left of it, and what they have in common.
-- Of permits taken ahead, `kept` is how long to keep the receipts (microseconds).
local left, count, width, charge, patience, kept, plain = 0, 0, 0, true, 0, nil, true
local hit_rule, hit_cost, hit_lease = {}, {}, {}

-- The request: where its part of the reply begins, and its part of the keys.
local start, first_key

local function read_run()
  local at, ask, all_plain = next_argument + 2, 0, true
  left, count, patience, kept = arguments[next_argument], arguments[next_argument + 1], 0, nil
  if count < 0 then
    count, ask, patience, all_plain, at = -count, arguments[at], arguments[at + 1], false, at + 2
    if ask == 2 then kept, patience = patience, 0 end
  end
  width = kept and 2 * count or count
  for hit = 1, count do
    local rule = rules[arguments[at]]
    hit_rule[hit], hit_cost[hit], hit_lease[hit], at = rule, arguments[at + 1], nil, at + 2
    if rule.leases then hit_lease[hit], at = arguments[at], at + 1 end
    if rule.block >= 0 then width = width + 1 end
    all_plain = all_plain and rule.plain
  end
  if patience < 0 then patience = math.huge end
  next_argument, charge, plain = at, ask ~= 1, all_plain
end

-- Returns: whether there is another request.
local function next_request()
  if left == 0 then
    if next_argument > last_argument then return false end
    read_run()
  end
  left = left - 1
  start, reply_end = reply_end + 1, reply_end + FIELDS * count
  first_key, next_key = next_key, next_key + width
  return true
end

local function tell(hit, allowed, remaining, wait, reset_after)
  local slot = start + FIELDS * (hit - 1)
  if not allowed then wait = wait < 0 and -1 or -2 - wait end
  reply[slot], reply[slot + 1], reply[slot + 2] = remaining, wait, reset_after
end

local function fail(failure)
  for slot = start, start + FIELDS * count - 1 do reply[slot] = 0 end
  reply[start] = type(failure) == 'table' and failure.err or tostring(failure)
end

-- Fails every request from a place in the reply on.
local function fail_from(slot, failure)
  next_argument, next_key, reply_end, left = 1, 1, 1, 0
  while next_request() do
    if start >= slot then fail(failure) end
  end
end
