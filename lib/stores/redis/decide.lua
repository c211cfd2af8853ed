-- Decides a list of requests one after the other, each all or nothing: checks every hit of a request,
-- and charges them only if all are allowed. What the call needs stands above: the algorithms in use, as
-- `algorithms[1]`, `algorithms[2]`, …, and what protocol.lua reads.
--
-- KEYS  for each hit, in order: its key, and its block's key if its rule can block
-- ARGV  see protocol.lua; the arguments are requests, each a list of: dry_run (1: charge nothing),
--       patience (microseconds; -1: endless), and of each hit: rule (index), cost (permits), lease (a
--       name, only if the algorithm has leases)
-- Returns  now (microseconds), then five integers a hit: allowed (1 or 0), remaining (permits),
--          retry_after (microseconds, 0 if allowed, -1 if never), reset_after (microseconds),
--          delay (microseconds); of a request that failed instead of all these the error, a string

local reply = { now }

local function put(slot, allowed, remaining, wait, reset_after)
  reply[slot], reply[slot + 1] = allowed and 1 or 0, remaining
  reply[slot + 2], reply[slot + 3] = allowed and 0 or wait, reset_after
  reply[slot + 4] = allowed and wait or 0
end

-- Returns: what the algorithm says of the hit; of a blocked one, that it is denied until the block ends.
local function check(hit, patience)
  local rule, key, block_key = hit.rule, hit.key, hit.block_key
  local blocked_until = block_key and tonumber(redis.call('GET', block_key) or nil)
  if not blocked_until or blocked_until <= now then
    return rule.step(key, now, hit.cost, patience, hit.lease, unpack(rule.parameters))
  end
  local wait = blocked_until - now
  local _, _, _, reset_after = rule.step(key, now, 0, 0, hit.lease, unpack(rule.parameters))
  return false, 0, wait, math.max(reset_after, wait), nil, nil, true
end

local function decide(hits, charge, patience)
  local denied = false
  for _, hit in ipairs(hits) do
    local rule = hit.rule
    local allowed, remaining, wait, reset_after, state, expires_after, blocked = check(hit, patience)
    if not allowed and not blocked and rule.block > 0 and wait >= 0 then
      remaining, wait, reset_after = 0, math.max(wait, rule.block), math.max(reset_after, rule.block)
    end
    hit.slot = #reply + 1
    put(hit.slot, allowed, remaining, wait, reset_after)
    hit.allowed, hit.state, hit.expires_after, hit.blocked = allowed, state, expires_after, blocked
    if not rule.observe and not allowed then denied = true end
  end

  for _, hit in ipairs(hits) do
    local rule = hit.rule
    if charge and not denied and hit.allowed and hit.cost > 0 then
      rule.save(hit.key, hit.state, milliseconds(hit.expires_after))
    elseif hit.allowed and (denied or not charge) then
      local _, remaining, _, reset_after = rule.step(hit.key, now, 0, 0, '', unpack(rule.parameters))
      put(hit.slot, true, remaining, 0, reset_after)
    elseif charge and not hit.allowed and not hit.blocked and rule.block > 0 and hit.cost > 0 then
      redis.call('SET', hit.block_key, string.format('%.0f', now + rule.block), 'PX', milliseconds(rule.block))
    end
  end
end

-- Returns: the hits of a request, with their keys.
local function read_hits(request)
  local hits, at = {}, 3
  while at < #request do
    local rule = rules[request[at]]
    local hit = { rule = rule, cost = request[at + 1], key = next_key() }
    if rule.block >= 0 then hit.block_key = next_key() end
    at = at + 2
    if rule.leases then
      hit.lease = request[at]
      at = at + 1
    end
    hits[#hits + 1] = hit
  end
  return hits
end

for _, request in ipairs(arguments) do
  local start, patience = #reply, request[2]
  if patience < 0 then patience = math.huge end
  local done, failure = pcall(decide, read_hits(request), request[1] == 0, patience)
  if not done then
    for slot = #reply, start + 1, -1 do reply[slot] = nil end
    reply[start + 1] = type(failure) == 'table' and failure.err or tostring(failure)
  end
end
return reply
