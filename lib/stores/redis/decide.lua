-- Decides a list of requests one after the other, each all or nothing: checks every hit of a request,
-- and charges them only if all are allowed.
--
-- KEYS  for each hit of each request, in order: its key, its block's key if its rule can block, and its
--       receipt's key if permits are taken ahead; each once
-- ARGV  see protocol.lua; the arguments are one run of requests after the other, which differ in their keys
--       only: times (how many they are), count (of the hits of each; below 0: ask (1: charge nothing; 2: take ahead)
--       and patience follow (microseconds; -1: endless; of 2: how long to keep the receipts)), and of each hit: rule (index), cost (permits), lease (a
--       name, only if the algorithm has leases)
-- Returns  now (microseconds), then three integers a hit: remaining (permits), wait (microseconds; from 0:
--          allowed, and held back so long; -1: never allowed; below: allowed after -2 - wait),
--          reset_after (microseconds); the first of a request that failed is the error, a string
--
-- @needs prologue, states, protocol, requests

-- Where in the reply the first request begins that was charged: from there on they saw what is not saved yet.
local unsure

local hit_key, hit_state, hit_expiry = {}, {}, {}
local hit_block, hit_receipt, hit_allowed, hit_blocks -- tables, for who needs them

local function step(hit, cost, patience)
  local rule = hit_rule[hit]
  return rule.step(hit_key[hit], now, cost, patience, hit_lease[hit], unpack(rule.parameters))
end

-- Returns: what the algorithm decides; a hit of a blocked subject is denied until the block has ended and the
-- algorithm allows it, which may be never.
local function check(hit)
  local block_key = hit_block[hit]
  local blocked_until = block_key and tonumber(get(block_key) or nil)
  if not blocked_until or blocked_until <= now then return step(hit, hit_cost[hit], patience) end
  local left = blocked_until - now
  local allowed, _, wait, reset_after = step(hit, hit_cost[hit], patience)
  if allowed then
    wait, _, _, _, reset_after = 0, step(hit, 0, 0)
  end
  if wait >= 0 then wait = math.max(wait, left) end
  return false, 0, wait, math.max(reset_after, left), nil, nil, true
end

-- Returns: whether a rule denies.
local function check_all()
  local denied = false
  for hit = 1, count do
    local rule = hit_rule[hit]
    local allowed, remaining, wait, reset_after, state, expires_after, blocked = check(hit)
    if not allowed and not blocked and rule.block > 0 and wait >= 0 then
      remaining, wait, reset_after = 0, math.max(wait, rule.block), math.max(reset_after, rule.block)
    end
    tell(hit, allowed, remaining, wait, reset_after)
    hit_allowed[hit], hit_state[hit], hit_expiry[hit] = allowed, state, expires_after
    hit_blocks[hit] = not allowed and not blocked and wait >= 0 -- a cost that can never fit begins no block
    if not allowed and not rule.shadow then denied = true end
  end
  return denied
end

-- Tells the figures of what would have been allowed as they are without the charge.
local function tell_uncharged()
  for hit = 1, count do
    if hit_allowed[hit] then
      local _, remaining, _, reset_after = step(hit, 0, 0)
      tell(hit, true, remaining, 0, reset_after)
    end
  end
end

-- States that are no strings are saved first: the server may refuse those, and so the request.
local function charge_all(are_strings)
  for hit = 1, count do
    local rule = hit_rule[hit]
    if hit_allowed[hit] and hit_cost[hit] > 0 and (not rule.save) == are_strings then
      (rule.save or put)(hit_key[hit], hit_state[hit], milliseconds(hit_expiry[hit]))
    end
  end
end

local function block_all()
  for hit = 1, count do
    local block = hit_rule[hit].block
    if block > 0 and hit_blocks[hit] and hit_cost[hit] > 0 then
      put(hit_block[hit], string.format(INTEGER, now + block), milliseconds(block))
    end
  end
end

-- A receipt states when the charge will be gone, and when it was made, so that permits whose reply is lost can be refunded: once, as
-- it is deleted then. It is written behind the charge: without one, nothing is refunded.
local function write_receipts()
  for hit = 1, count do
    if hit_allowed[hit] and hit_cost[hit] > 0 then
      local reset_after = reply[start + FIELDS * (hit - 1) + 2]
      local kept_for = milliseconds(math.min(kept, reset_after))
      put(hit_receipt[hit], string.format(INTEGER .. ' ' .. INTEGER, now + reset_after, now), kept_for)
    end
  end
end

local function find_keys()
  local index = first_key
  for hit = 1, count do
    local rule = hit_rule[hit]
    hit_key[hit], hit_block[hit], index = key_of(rule, index), nil, index + 1
    if rule.block >= 0 then
      hit_block[hit], index = places and places[index] or index, index + 1
    end
    if kept then
      hit_receipt[hit], index = places and places[index] or index, index + 1
    end
  end
end

local function decide_any()
  if not hit_block then
    hit_block, hit_receipt, hit_allowed, hit_blocks = {}, {}, {}, {}
  end
  find_keys()
  local denied = check_all()
  if denied or not charge then tell_uncharged() end
  if charge and not denied then
    charge_all(false)
    charge_all(true)
    if kept then write_receipts() end
    unsure = unsure or start
  end
  if charge then block_all() end
end

-- Decides what nearly all requests are in half the time: hits on plain rules that all allow.
-- Returns: whether it is one; if not, nothing has happened.
local function decide_plainly()
  local slot = start
  for hit = 1, count do
    local rule, cost, key = hit_rule[hit], hit_cost[hit], first_key + hit - 1
    if places then key = places[key] end
    local allowed, remaining, wait, reset_after, state, expires_after =
      rule.step(key, now, cost, 0, nil, unpack(rule.parameters))
    if not allowed then return false end
    reply[slot], reply[slot + 1], reply[slot + 2], slot = remaining, wait, reset_after, slot + FIELDS
    hit_key[hit], hit_state[hit], hit_expiry[hit] = key, cost > 0 and state, expires_after
  end
  for hit = 1, count do
    if hit_state[hit] then put(hit_key[hit], hit_state[hit], milliseconds(hit_expiry[hit])) end
  end
  unsure = unsure or start
  return true
end

local function decide_all()
  while next_request() do
    if not (plain and decide_plainly()) then decide_any() end
  end
end

local failed
repeat
  local done, failure = pcall(decide_all)
  if not done then
    if start == failed then error(failure) end -- no request's own: it would fail forever
    failed = start
    fail(failure)
  end
until done
local saved, failure = pcall(save_all)
if not saved and unsure then fail_from(unsure, failure) end
return reply
