-- Adjusts what counters were charged, one by one.
--
-- KEYS  for each adjustment, in order: its key; where the instant of the counter's last reset is (microseconds), if it
--       is of kind 0, 1 or 3 and its algorithm has no leases; and the key of its name if it is of kind 3 or 4; each once
-- ARGV  see protocol.lua; the arguments are adjustments, each a list of: kind (0: refund; 1: refund only
--       if nothing has been charged since; 2: renew a lease; 3: refund prefetched permits, once; 4: charge once,
--       whatever the limit), rule (index), cost (permits), receipt (microseconds, or the lease's name; of kind 3: 0;
--       of kind 4: how long to keep its name, in microseconds), and of kind 0 and 1 when it was charged (microseconds)
-- Returns  for each adjustment whether there was anything to adjust (1 or 0)
--
-- @needs prologue, states, protocol, announce

local reply = {}
local next_key = 1

-- Returns: the place in KEYS of the next key that is meant.
local function next_place()
  next_key = next_key + 1
  return places and places[next_key - 1] or next_key - 1
end

-- Returns: the receipt at a place, which is deleted, and when it was charged; nil if there is none.
local function take_receipt(place)
  local receipt = get(place)
  if not receipt then return nil end
  redis.call('UNLINK', KEYS[place])
  states[place] = false
  local ends_at, charged_at = string.match(receipt, '^(%d+) (%d+)$')
  return tonumber(ends_at), tonumber(charged_at)
end

-- Returns: whether a reset has cleared what was charged at an instant.
local function is_cleared(place, charged_at)
  local reset_at = tonumber(get(place) or nil)
  return reset_at and charged_at < reset_at
end

-- Returns: what the algorithm stores, and for how long; nil if it was charged by this name already, or never can be.
local function charge_once(rule, key, cost, name, kept_for)
  if get(name) then return nil end
  local _, _, _, _, state, expires_after = rule.step(key, now, cost, math.huge, nil, unpack(rule.parameters))
  if state then put(name, '1', milliseconds(kept_for)) end
  return state, expires_after
end

for index, adjustment in ipairs(arguments) do
  local kind, rule, cost, receipt = adjustment[1], rules[adjustment[2]], adjustment[3], adjustment[4]
  local charged_at, key, reset, name, state, expires_after = adjustment[5], key_of(rule, next_key), nil, nil, nil, nil
  next_key = next_key + 1
  if kind ~= 2 and kind ~= 4 and not rule.leases then reset = next_place() end
  if kind > 2 then name = next_place() end
  if kind == 3 then receipt, charged_at = take_receipt(name) end
  if kind == 2 then
    state, expires_after = rule.renew(key, now, receipt, unpack(rule.parameters))
  elseif kind == 4 then
    state, expires_after = charge_once(rule, key, cost, name, receipt)
  elseif receipt and not (reset and is_cleared(reset, charged_at)) then
    state, expires_after = rule.refund(key, now, cost, receipt, kind == 1, unpack(rule.parameters))
  end
  if state then
    (rule.save or put)(key, state, milliseconds(expires_after))
    if kind ~= 2 and kind ~= 4 and not rule.leases then announce(rule.save and key or KEYS[key]) end
  end
  reply[index] = (state or kind == 3 and receipt) and 1 or 0
end
save_all()
return reply
