-- Decides a list of requests, each all or nothing: checks every hit of a request, and charges them
-- only if all are allowed. The algorithms in use stand above, as `algorithms[1]`, `algorithms[2]`, …
--
-- KEYS  one a hit, in the order of the hits
-- ARGV  now          microseconds since the epoch, or '' for the server's time
--       rules        how many rules follow; each is: algorithm (index), parameters (count), then
--                    its parameters (integers) in the order of the algorithm's function
--       requests     for the rest of ARGV, each is: dry_run (1: charge nothing), hits (count), then
--                    for each hit: rule (index), cost (permits)
-- Returns  four integers a hit: allowed (1 or 0), remaining (permits), retry_after (microseconds,
--          0 if allowed, -1 if never), reset_after (microseconds)

local cursor = 0
local function next_number()
  cursor = cursor + 1
  return tonumber(ARGV[cursor])
end

-- A clock that is not the server's may run slower than keys expire: they are kept an hour longer.
local now, slack_ms = next_number(), 3600000
if not now then
  local time = redis.call('TIME')
  now, slack_ms = tonumber(time[1]) * 1000000 + tonumber(time[2]), 0
end

local rules = {}
for rule = 1, next_number() do
  local algorithm, count = algorithms[next_number()], next_number()
  local parameters = {}
  for index = 1, count do parameters[index] = next_number() end
  rules[rule] = { step = algorithm.step, save = algorithm.save, parameters = parameters }
end

local function save_string(key, state, expires_ms)
  redis.call('SET', key, state, 'PX', expires_ms)
end

local reply, key_index = {}, 0

local function put(slot, allowed, remaining, retry_after, reset_after)
  reply[slot], reply[slot + 1] = allowed and 1 or 0, remaining
  reply[slot + 2], reply[slot + 3] = retry_after, reset_after
end

while cursor < #ARGV do
  local charge, hits = next_number() == 0, {}
  for hit = 1, next_number() do
    local rule, cost = rules[next_number()], next_number()
    key_index = key_index + 1
    local key, slot = KEYS[key_index], #reply + 1
    local allowed, remaining, retry_after, reset_after, state, expires_after =
      rule.step(key, now, cost, unpack(rule.parameters))
    put(slot, allowed, remaining, retry_after, reset_after)
    charge = charge and allowed
    hits[hit] = { rule, key, cost, slot, allowed, state, expires_after }
  end

  for _, hit in ipairs(hits) do
    local rule, key, cost, slot, allowed, state, expires_after = unpack(hit, 1, 7)
    if charge and cost > 0 then
      local save = rule.save or save_string
      save(key, state, math.max(1, math.ceil(expires_after / 1000)) + slack_ms)
    elseif allowed and not charge then
      local _, remaining, _, reset_after = rule.step(key, now, 0, unpack(rule.parameters))
      put(slot, true, remaining, 0, reset_after)
    end
  end
end

return reply
