-- Reads the requests of a call one by one, and tells what became of them: see decide.lua for both. What
-- protocol.lua reads stands above.

local FIELDS = 3

local reply, reply_end = { now }, 1
local next_argument = 1
local unsure = {} -- start and count of each request from the first on that was charged: it saw what is not saved yet

-- The request that is decided now: where its part of the reply begins, and its hits one by one.
local start, count
local hit_key, hit_state, hit_expiry = {}, {}, {}
local hit_rule, hit_block, hit_cost, hit_lease, hit_allowed, hit_blocked -- tables, for who needs them

-- Returns: whether to charge, and the patience.
local function read_request()
  local dry_run, patience, at = 0, 0, next_argument + 1
  count = arguments[next_argument]
  if count < 0 then count, dry_run, patience, at = -count, arguments[at], arguments[at + 1], at + 2 end
  for hit = 1, count do
    local rule = rules[arguments[at]]
    hit_rule[hit], hit_cost[hit], hit_key[hit], at = rule, arguments[at + 1], next_key(), at + 2
    hit_block[hit] = rule.block >= 0 and next_key()
    if rule.leases then hit_lease[hit], at = arguments[at], at + 1 end
  end
  next_argument, start = at, reply_end + 1
  reply_end = reply_end + FIELDS * count
  return dry_run == 0, patience < 0 and math.huge or patience
end

local function tell(hit, allowed, remaining, wait, reset_after)
  local slot = start + FIELDS * (hit - 1)
  if not allowed then wait = wait < 0 and -1 or -2 - wait end
  reply[slot], reply[slot + 1], reply[slot + 2] = remaining, wait, reset_after
end

local function note(is_charged)
  local size = #unsure
  if is_charged or size > 0 then unsure[size + 1], unsure[size + 2] = start, count end
end

local function fail(first, hits, failure)
  for slot = first, first + FIELDS * hits - 1 do reply[slot] = 0 end
  reply[first] = type(failure) == 'table' and failure.err or tostring(failure)
end
