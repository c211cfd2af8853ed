-- Adjusts the charges of counters, one by one.
--
-- KEYS  for each adjustment, in order, without duplicates: its key; the key of the instant of the counter's last reset,
--       for kinds 0, 1 and 3 of an algorithm without leases; and the key of its name, for kinds 3 and 4
-- ARGV  see protocol.lua; the arguments are adjustments, each a list of: kind (0: refund; 1: refund only if nothing was
--       charged since; 2: renew a lease; 3: refund prefetched permits, once; 4: charge once, regardless of the limit;
--       5: reset one subject of an algorithm that keeps all subjects in one state),
--       rule (index), cost (permits), receipt (microseconds, or the name of the lease; for kind 3: 0; for kind 4: how
--       long to store the name, in microseconds), and for kinds 0 and 1 the instant of the charge (microseconds)
-- Returns  for each adjustment 0 if there was nothing to adjust, -1 if it would rewrite too many entries in this call and must
--          be repeated in another one, otherwise 1, or for kind 4: 1 and the permits that are left;
--          then for each adjustment that has crossed thresholds: its index from 1, the thresholds (bits)
--
-- @needs protocol, announce, alerts

-- Permits left after the last charge, and how long until the full limit is available (microseconds).
local left, full_after

-- Returns: the receipt at a position in KEYS, which is deleted, and the instant of its charge; nil if there is none.
local function take_receipt(position)
  local receipt = get(position)
  if not receipt then return nil end
  redis.call('UNLINK', keys[position])
  states[position] = false
  local ends_at, charged_at = string.match(receipt, '^(%d+) (%d+)$')
  return tonumber(ends_at), tonumber(charged_at)
end

-- Returns: whether a charge that was made at an instant can no longer be refunded, since it was made before the clock was
-- set back, or before a reset. A reset before the clock was set back says nothing about later charges.
local function is_cleared(position, charged_at)
  if charged_at - now > SLACK then return true end
  local reset_at = tonumber(get(position) or nil)
  return reset_at and reset_at - now <= SLACK and charged_at < reset_at
end

-- Returns: the state to store and its expiry; nil if the name was already charged, or the charge is impossible.
local function charge_once(rule, key, cost, name, kept_for)
  if get(name) then return nil end
  local _, remaining, _, reset_after, state, expires_after = rule.step(key, now, cost, math.huge, nil, unpack(rule.parameters))
  if not state then return nil end
  left, full_after = remaining, reset_after
  if not rule.save then check_new(key, expires_after) end
  put(name, '1', milliseconds(kept_for))
  return state, expires_after
end

-- Stores a string that a refund has changed. This needs no memory, but a server that is out of memory rejects
-- a script whose first write is a SET.
local function put_refund(key, state, expires_ms)
  redis.call('PEXPIRE', keys[key], expires_ms)
  put(key, state, expires_ms)
end

-- Fails before the first write, because a call that fails for lack of memory is repeated as a whole.
local function take_memory_for_charges()
  for _, adjustment in ipairs(arguments) do
    if adjustment[1] == 4 then take_memory() end
  end
end

-- Returns: the adjusted state and its expiry; nil if there was nothing to adjust, or the state is not recognised, and then
-- also true.
local function adjusted(operation, ...)
  local done, state, expires_after = pcall(operation, ...)
  if done then return state, expires_after end
  if not is_of_key(state) then error(state) end
  return nil, nil, true
end

local function adjust(...)
  begin_call(...)
  take_memory_for_charges()
  local reply, next_key, crossed = {}, 0, {}

  local function next_position()
    next_key = next_key + 1
    return position_of(next_key)
  end

  for index, adjustment in ipairs(arguments) do
    local kind, rule, cost, receipt = adjustment[1], rules[adjustment[2]], adjustment[3], adjustment[4]
    local position, charged_at, reset_position, name = next_position(), adjustment[5], nil, nil
    local state, expires_after, is_invalid
    local key, is_refund = rule.save and keys[position] or position, kind < 2 or kind == 3
    if is_refund and not rule.leases then reset_position = next_position() end
    if kind == 3 or kind == 4 then name = next_position() end
    if kind == 3 then receipt, charged_at = take_receipt(name) end
    if kind == 2 then
      state, expires_after = adjusted(rule.renew, key, now, receipt, unpack(rule.parameters))
    elseif kind == 5 then
      state, expires_after, is_invalid = adjusted(rule.clear, key, now, unpack(rule.parameters))
      if is_invalid then
        redis.call('UNLINK', keys[position])
        states[position] = false
      end
    elseif kind == 4 then
      state, expires_after = adjusted(charge_once, rule, key, cost, name, receipt)
    elseif receipt and not (reset_position and is_cleared(reset_position, charged_at)) then
      state, expires_after = adjusted(rule.refund, key, now, cost, receipt, kind == 1, unpack(rule.parameters))
    end
    if state then
      local save = (is_refund or kind == 5) and not rule.save and put_refund or rule.save or put
      save(key, state, milliseconds(expires_after))
      if reset_position then announce_refund(keys[position]) end
      if kind == 5 then announce(keys[position]) end
    end
    reply[index] = (state or kind == 3 and receipt or is_invalid) and 1 or expires_after == 'later' and -1 or 0
    if kind == 4 and state then
      reply[index] = 1 + left
      local bits = rule.alerts and crossed_by(keys[position], rule.alerts, left, cost, full_after) or 0
      if bits > 0 then crossed[#crossed + 1], crossed[#crossed + 2] = index, bits end
    end
  end
  save_all()
  for _, value in ipairs(crossed) do reply[#reply + 1] = value end
  return reply
end
