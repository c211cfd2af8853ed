-- Decides requests one after the other, each all or nothing: checks all hits of a request, and charges them only if all
-- are allowed.
--
-- KEYS  for each hit of each request, in order, without duplicates: its key, the key of its block if its rule can block,
--       and the key of its receipt for a prefetch
-- ARGV  see protocol.lua; the arguments, [1,1,1,1] by default, are runs of requests that differ only in their keys, each
--       with: times (number of requests), count (hits per request; if negative, mode and max_wait follow), mode (1:
--       charge nothing; 2: prefetch; 3: charge nothing, and return the results of the charge), max_wait (microseconds;
--       -1: unlimited; for mode 2: how long to store the receipts), and for each hit: rule (index), cost (permits), and
--       only if the algorithm has leases: lease (a name), waits (1: takes a place in the queue if permits are missing)
-- Returns  now (microseconds), then three integers per hit: remaining (permits; if negative: none, and the subject is
--          blocked for so many microseconds), wait (microseconds; from 0: allowed
--          with this delay; -1: never allowed; below -1: allowed after -2 - wait), reset_after (microseconds); the
--          first value of a failed request is the error, a string; then further values, see requests.lua. If no request
--          has failed, they are packed into one string, as doubles (8 bytes each, the least significant first)
--
-- @needs requests, announce, alerts

-- The hits of the request: where their states, blocks and receipts are, and what their algorithms say.
local hit_key, hit_block, hit_receipt = {}, {}, {}
local hit_allowed, hit_state, hit_expiry, hit_blocks = {}, {}, {}, {}

-- The arguments of a request of one hit of cost 1.
local LONE = '[1,1,1,1]'

-- Position in the reply of the first request that was charged: it and the later ones depend on unsaved states.
local unsure

-- Finds the keys of a hit, from a position in KEYS on.
-- Returns: the position of the keys of the next hit.
local function find_keys(hit, index)
  local rule = hit_rule[hit]
  hit_key[hit], index = key_of(rule, index), index + 1
  if rule.block then hit_block[hit], index = position_of(index), index + 1 end
  if kept then hit_receipt[hit], index = position_of(index), index + 1 end
  return index
end

local function step(hit, cost, max_wait)
  local rule = hit_rule[hit]
  if hit_waits[hit] and cost > 0 then max_wait = 1 end
  return rule.step(hit_key[hit], now, cost, max_wait, hit_lease[hit], unpack(rule.parameters))
end

-- Returns: how long the subject is still blocked (microseconds); nil if it is not. A block that began before the clock was
-- set back keeps its length.
local function blocked_for(hit)
  local position = hit_block[hit]
  local stored = get(position)
  if not stored then return nil end
  local s_until, s_written = string.match(stored, '^(%d+):(%d+)$')
  if not s_until then fail_unrecognised(position, 1000000) end
  local by = set_back(tonumber(s_written))
  local left = tonumber(s_until) - by - now
  if left <= 0 then return nil end
  if by > 0 and charge and not is_full then put(position, block_text(left), milliseconds(left)) end
  return left
end

-- A hit of a blocked subject is denied until the block has ended and the algorithm allows it, which may be never.
local function check_blocked(hit, left)
  local allowed, _, wait, reset_after = step(hit, hit_cost[hit], max_wait)
  if allowed then
    wait, _, _, _, reset_after = 0, step(hit, 0, 0)
  end
  if wait >= 0 then wait = math.max(wait, left) end
  return false, -left, wait, math.max(reset_after, left)
end

-- A denial starts a block if the rule has one, unless the cost can never fit or there is no memory for the block.
local function block_if_denied(hit, allowed, remaining, wait, reset_after, state, expires_after)
  local block = hit_rule[hit].block
  hit_blocks[hit] = not allowed and wait >= 0
  if hit_blocks[hit] and block > 0 and not is_full then
    remaining, wait, reset_after = -block, math.max(wait, block), math.max(reset_after, block)
  end
  return allowed, remaining, wait, reset_after, state, expires_after
end

-- Returns: the result of the algorithm, or of the subject's block.
local function check(hit)
  if not hit_rule[hit].block then return step(hit, hit_cost[hit], max_wait) end
  local left = blocked_for(hit)
  hit_blocks[hit] = false
  if left then return check_blocked(hit, left) end
  return block_if_denied(hit, step(hit, hit_cost[hit], max_wait))
end

-- Returns: whether a rule denies.
local function check_all()
  local denied, index = false, first_key
  for hit = 1, count do
    index = find_keys(hit, index)
    local allowed, remaining, wait, reset_after, state, expires_after, guaranteed, borrowed = check(hit)
    report(hit, allowed, remaining, wait, reset_after, guaranteed, borrowed)
    hit_allowed[hit], hit_state[hit], hit_expiry[hit] = allowed, state, expires_after
    if not allowed and not hit_rule[hit].shadow then denied = true end
  end
  return denied
end

-- Reports for the allowed hits the results without the charge.
local function report_uncharged()
  for hit = 1, count do
    if hit_allowed[hit] then
      local _, remaining, _, reset_after, _, _, guaranteed, borrowed = step(hit, 0, 0)
      report(hit, true, remaining, 0, reset_after, guaranteed, borrowed)
    end
  end
end

-- Returns: whether a hit stores a state: an allowed one if no rule denies, and a denied one that counts as asked.
local function stores_state(hit, denied)
  return hit_state[hit] and hit_cost[hit] > 0 and not (denied and hit_allowed[hit])
end

local function begins_block(hit)
  local block = hit_rule[hit].block
  return block and block > 0 and hit_blocks[hit] and hit_cost[hit] > 0
end

-- Fails before anything is saved if a new state would replace a value that is no string; so does a peek at it.
local function check_all_new(denied)
  for hit = 1, count do
    if stores_state(hit, denied) and not hit_rule[hit].save then check_new(hit_key[hit], hit_expiry[hit]) end
    if begins_block(hit) then check_new(hit_block[hit], hit_rule[hit].block) end
  end
end

-- States that are not strings are saved first: the server may reject their commands, so that the request fails.
local function charge_all()
  local strings
  for hit = 1, count do
    if hit_allowed[hit] and hit_cost[hit] > 0 then
      take_memory()
      local save = hit_rule[hit].save
      if save then save(hit_key[hit], hit_state[hit], milliseconds(hit_expiry[hit])) else strings = true end
    end
  end
  for hit = 1, strings and count or 0 do
    if hit_allowed[hit] and hit_cost[hit] > 0 and not hit_rule[hit].save then
      put(hit_key[hit], hit_state[hit], milliseconds(hit_expiry[hit]))
    end
  end
end

-- Reports the thresholds that the charges have crossed.
local function report_crossed()
  for hit = 1, count do
    local rule, slot = hit_rule[hit], start + FIELDS * (hit - 1)
    if rule.alerts and hit_allowed[hit] and hit_cost[hit] > 0 then
      local key = rule.save and hit_key[hit] or keys[hit_key[hit]]
      local bits = crossed_by(key, rule.alerts, reply[slot], hit_cost[hit], reply[slot + 2])
      if bits > 0 then add_part(-slot, -1, bits) end
    end
  end
end

-- Without memory for the block, the denial is still returned.
local function block_all()
  if is_full then return end
  for hit = 1, count do
    if begins_block(hit) then
      local block = hit_rule[hit].block
      put(hit_block[hit], block_text(block), milliseconds(block))
    end
  end
end

-- Reports when the next permit is available, for hits that took the last one.
local function report_next()
  for hit = 1, count do
    local slot = start + FIELDS * (hit - 1)
    if hit_allowed[hit] and reply[slot] == 0 and hit_cost[hit] > 0 and not hit_rule[hit].leases then
      local allowed, _, wait = hit_rule[hit].step(hit_key[hit], now, 1, 0, nil, unpack(hit_rule[hit].parameters))
      if allowed or wait >= 0 then add_part(-slot, allowed and 0 or wait, 0) end
    end
  end
end

-- Reports the same for hits that would take the last one.
local function report_next_of_peek()
  for hit = 1, count do
    local slot, rule = start + FIELDS * (hit - 1), hit_rule[hit]
    if hit_allowed[hit] and reply[slot] == 0 and hit_cost[hit] > 0 and not rule.leases then
      local key, cost, stored = hit_key[hit], 1, nil
      -- A state that is no string cannot be replaced for a moment: one more permit waits as long.
      if rule.save then cost = hit_cost[hit] + 1 else stored, states[key] = get(key), hit_state[hit] end
      local allowed, _, wait = rule.step(key, now, cost, 0, nil, unpack(rule.parameters))
      if not rule.save then states[key] = stored elseif wait < 0 then wait = reply[slot + 2] end
      if allowed or wait >= 0 then add_part(-slot, allowed and 0 or wait, 0) end
    end
  end
end

-- A receipt contains when the charge expires and when it was made, so that permits whose reply is lost can be refunded,
-- once: the refund deletes it. It is written after the charge, so that nothing is refunded without one.
local function write_receipts()
  for hit = 1, count do
    if hit_allowed[hit] and hit_cost[hit] > 0 then
      local reset_after = reply[start + FIELDS * (hit - 1) + 2]
      local kept_for = milliseconds(math.min(kept, reset_after))
      put(hit_receipt[hit], string.format(INTEGER .. ' ' .. INTEGER, now + reset_after, now), kept_for)
    end
  end
end

-- Stores the states of denials that count as asked, if there is memory for them.
local function keep_asked()
  if is_full then return end
  for hit = 1, count do
    if stores_state(hit, true) then
      put(hit_key[hit], hit_state[hit], milliseconds(hit_expiry[hit]))
    end
  end
end

-- Stores the states of uncharged hits that were written before the clock was set back, moved by the difference.
local function keep_moved()
  if is_full then return end
  for hit = 1, count do
    has_moved = false
    local _, _, _, _, state, expires_after = step(hit, 0, 0)
    if has_moved and state then
      local save = hit_rule[hit].save or put
      save(hit_key[hit], state, milliseconds(expires_after))
    end
  end
end

-- Marks the denials that a process may cache: those of one permit that a later request will get. If a denial begins a block,
-- it is cached only until the block ends, which no refund changes.
local function mark_cached()
  for hit = 1, count do
    local rule = hit_rule[hit]
    if rule.caches and not hit_allowed[hit] and hit_cost[hit] == 1 and wait_of(hit) ~= -1 then
      mark_denied(rule.save and hit_key[hit] or keys[hit_key[hit]])
    end
  end
end

-- Denies the only hit of a plain request, unless the denial has to be stored.
-- Returns: whether it is denied.
local function deny_plain(remaining, wait, reset_after, state)
  if count > 1 or state then return false end
  report(1, false, remaining, wait, reset_after)
  mark_cached()
  return true
end

-- Decides a request of plain rules (see protocol.lua), if nothing but their charges has to be stored and reported.
-- Otherwise, nothing is stored.
-- Returns: whether it is decided.
local function decide_plain()
  has_moved = false
  local is_new, all_strings = false, true
  for hit = 1, count do
    local rule = hit_rule[hit]
    local key = key_of(rule, first_key + hit - 1)
    local allowed, remaining, wait, reset_after, state, expires_after =
      rule.step(key, now, hit_cost[hit], 0, nil, unpack(rule.parameters))
    hit_key[hit], hit_allowed[hit], hit_state[hit], hit_expiry[hit] = key, allowed, state, expires_after
    if has_moved then return false end
    if not allowed then return deny_plain(remaining, wait, reset_after, state) end
    if remaining == 0 then return false end
    local slot = start + FIELDS * (hit - 1)
    reply[slot], reply[slot + 1], reply[slot + 2] = remaining, wait, reset_after
    if rule.save then all_strings = false elseif not states[key] then is_new = true end
  end
  if is_new and #keys > 1 then check_all_new(false) end
  if all_strings then
    for hit = 1, count do put(hit_key[hit], hit_state[hit], milliseconds(hit_expiry[hit])) end
  else
    charge_all()
  end
  unsure = unsure or start
  return true
end

local function decide_request()
  if plain and decide_plain() then return end
  has_moved = false
  local denied = check_all()
  check_all_new(denied)
  if denied or not (charge or peeks) then
    report_uncharged()
  elseif peeks then
    report_next_of_peek()
  else
    charge_all()
    if kept then write_receipts() end
    report_next()
    report_crossed()
    unsure = unsure or start
  end
  if charge then
    keep_asked()
    if has_moved then keep_moved() end
    block_all()
    if denied then mark_cached() end
  end
end

-- Decides the plain requests of one hit in a run, whose state is a string, up to one that has to store or report anything
-- else than its charge.
local function decide_run()
  local rule, cost = hit_rule[1], hit_cost[1]
  local step, parameters = rule.step, rule.parameters
  has_moved = false
  repeat
    local key = position_of(first_key)
    local allowed, remaining, wait, reset_after, state, expires_after =
      step(key, now, cost, 0, nil, unpack(parameters))
    if not allowed or remaining == 0 or has_moved then return decide_request() end
    if not states[key] then check_new(key, expires_after) end
    reply[start], reply[start + 1], reply[start + 2] = remaining, wait, reset_after
    put(key, state, milliseconds(expires_after))
    unsure = unsure or start
  until left == 0 or not next_request()
end

local function decide_all()
  while next_request() do
    if plain and count == 1 and not hit_rule[1].save then decide_run() else decide_request() end
  end
end

-- Decides the only request of a call without arguments, a hit of cost 1, if its rule is plain.
-- Returns: whether it is decided.
local function decide_lone(...)
  begin(...)
  rules, reply, has_failed = rules_of(argv[2]), { now, 0, 0, 0 }, false
  if is_full or not rules[1].plain then return false end
  hit_rule[1], hit_cost[1] = rules[1], 1
  start, first_key, count, has_moved = 2, 1, 1, false
  if rules[1].save then return decide_plain() end
  local allowed, remaining, wait, reset_after, state, expires_after =
    rules[1].step(1, now, 1, 0, nil, unpack(rules[1].parameters))
  if has_moved or (allowed and remaining == 0) then return false end
  if not allowed then
    hit_key[1], hit_allowed[1] = 1, false
    return deny_plain(remaining, wait, reset_after, state)
  end
  reply[2], reply[3], reply[4] = remaining, wait, reset_after
  redis.call('SET', keys[1], state, 'PX', string.format(INTEGER, milliseconds(expires_after)))
  return true
end

local decide
function decide(call_keys, call_argv)
  if not call_argv[3] then
    local done, is_decided = pcall(decide_lone, call_keys, call_argv)
    if done and is_decided then return packed_reply() end
    call_argv[3] = LONE
  end
  begin_requests(call_keys, call_argv)
  unsure = nil
  local failed
  repeat
    local done, failure = pcall(decide_all)
    if not done then
      if start == failed then error(failure) end -- not the error of one request: it would recur forever
      failed = start
      fail(failure)
    end
  until done
  local saved, failure = pcall(save_all)
  if not saved and not is_full and string.find(type(failure) == 'table' and failure.err or failure, 'OOM', 1, true) then
    return when_full(decide)(call_keys, call_argv) -- the first write failed, so nothing was written
  end
  if not saved and unsure then fail_from(unsure, failure) end
  append_parts()
  return packed_reply()
end
