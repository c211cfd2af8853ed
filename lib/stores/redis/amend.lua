-- Amends what counters have been charged, one by one. What the call needs stands above: the
-- algorithms in use, as `algorithms[1]`, `algorithms[2]`, …, and what states.lua and protocol.lua read.
--
-- KEYS  for each amendment, in order: its key, and its receipt's key if it is of kind 3; each once
-- ARGV  see protocol.lua; the arguments are amendments, each a list of: kind (0: refund; 1: refund only
--       if nobody has been charged since; 2: renew a lease; 3: refund permits that were taken ahead, once),
--       rule (index), cost (permits), receipt (microseconds, or the lease's name; of kind 3: 0)
-- Returns  for each amendment whether there was anything to amend (1 or 0)

local reply = {}
local next_key = 1

-- Returns: the receipt at a place in KEYS, which is deleted; nil if there is none.
local function take_receipt(index)
  local place = places and places[index] or index
  local receipt = get(place)
  if not receipt then return nil end
  redis.call('UNLINK', KEYS[place])
  states[place] = false
  return tonumber(receipt)
end

for index, amendment in ipairs(arguments) do
  local kind, rule, cost, receipt = amendment[1], rules[amendment[2]], amendment[3], amendment[4]
  local key, state, expires_after = key_of(rule, next_key), nil, nil
  next_key = next_key + 1
  if kind == 3 then receipt, next_key = take_receipt(next_key), next_key + 1 end
  if kind == 2 then
    state, expires_after = rule.renew(key, now, receipt, unpack(rule.parameters))
  elseif receipt then
    state, expires_after = rule.refund(key, now, cost, receipt, kind == 1, unpack(rule.parameters))
  end
  if state then
    (rule.save or put)(key, state, milliseconds(expires_after))
    if kind ~= 2 and not rule.leases then announce(rule.save and key or KEYS[key]) end
  end
  reply[index] = (state or kind == 3 and receipt) and 1 or 0
end
save_all()
return reply
