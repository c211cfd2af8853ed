-- Decides a list of requests, each all or nothing: checks every hit of a request, and charges them
-- only if all are allowed. What the call needs stands above: the algorithms in use, as
-- `algorithms[1]`, `algorithms[2]`, …, and what protocol.lua reads.
--
-- KEYS  for each hit, in order: its key, and its block's key if its rule can block
-- ARGV  clock and rules, see protocol.lua; then, to the end, each request:
--       dry_run (1: charge nothing), patience (microseconds; -1: endless), hits (count); and each hit:
--       rule (index), cost (permits), lease (a name, only if the algorithm has leases)
-- Returns  now (microseconds), then five integers a hit: allowed (1 or 0), remaining (permits),
--          retry_after (microseconds, 0 if allowed, -1 if never), reset_after (microseconds),
--          delay (microseconds)

local reply = { now }

local function put(slot, allowed, remaining, wait, reset_after)
  reply[slot], reply[slot + 1] = allowed and 1 or 0, remaining
  reply[slot + 2], reply[slot + 3] = allowed and 0 or wait, reset_after
  reply[slot + 4] = allowed and wait or 0
end

-- Returns: what the algorithm says of the hit; of a blocked one, that it is denied until the block ends.
local function decide(rule, key, block_key, cost, patience, lease)
  local blocked_until = block_key and tonumber(redis.call('GET', block_key) or nil)
  if not blocked_until or blocked_until <= now then
    return rule.step(key, now, cost, patience, lease, unpack(rule.parameters))
  end
  local wait = blocked_until - now
  local _, _, _, reset_after = rule.step(key, now, 0, 0, lease, unpack(rule.parameters))
  return false, 0, wait, math.max(reset_after, wait), nil, nil, true
end

while has_more() do
  local charge, patience, hits = next_number() == 0, next_number(), {}
  if patience < 0 then patience = math.huge end

  for index = 1, next_number() do
    local rule, cost = rules[next_number()], next_number()
    local lease = rule.leases and next_argument()
    local key, block_key = next_key(), rule.block >= 0 and next_key()
    local allowed, remaining, wait, reset_after, state, expires_after, blocked =
      decide(rule, key, block_key, cost, patience, lease)
    if not allowed and not blocked and rule.block > 0 and wait >= 0 then
      remaining, wait, reset_after = 0, math.max(wait, rule.block), math.max(reset_after, rule.block)
    end
    local slot = #reply + 1
    put(slot, allowed, remaining, wait, reset_after)
    hits[index] = { rule, key, block_key, cost, slot, allowed, state, expires_after, blocked }
    if not rule.observe and not allowed then hits.denied = true end
  end

  for _, hit in ipairs(hits) do
    local rule, key, block_key, cost, slot, allowed, state, expires_after, blocked = unpack(hit, 1, 9)
    if charge and not hits.denied and allowed and cost > 0 then
      rule.save(key, state, milliseconds(expires_after))
    elseif allowed and (hits.denied or not charge) then
      local _, remaining, _, reset_after = rule.step(key, now, 0, 0, '', unpack(rule.parameters))
      put(slot, true, remaining, 0, reset_after)
    elseif charge and not allowed and not blocked and rule.block > 0 and cost > 0 then
      redis.call('SET', block_key, string.format('%.0f', now + rule.block), 'PX', milliseconds(rule.block))
    end
  end
end

return reply
