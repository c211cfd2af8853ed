-- Reads what every call of the store begins with: the clock and the rules.
--
-- ARGV  now          microseconds since the epoch, or '' for the server's time
--       rules        how many follow; each is: algorithm (index), block (microseconds; 0: blocks only
--                    when told to; -1: cannot block), observe (1: does not count for its request),
--                    parameters (count), then its parameters (integers) in the order of the
--                    algorithm's functions

local argument_index, key_index = 0, 0

local function has_more()
  return argument_index < #ARGV
end

local function next_argument()
  argument_index = argument_index + 1
  return ARGV[argument_index]
end

local function next_number()
  return tonumber(next_argument())
end

local function next_key()
  key_index = key_index + 1
  return KEYS[key_index]
end

-- A clock that is not the server's may run slower than keys expire: they are kept an hour longer.
local now, slack_ms = next_number(), 3600000
if not now then
  local time = redis.call('TIME')
  now, slack_ms = tonumber(time[1]) * 1000000 + tonumber(time[2]), 0
end

-- A millisecond more than it takes, since Redis counts from when the command began, and TIME is later.
local function milliseconds(microseconds)
  return math.ceil(microseconds / 1000) + 1 + slack_ms
end

-- Tells who remembers denials that a counter has changed. An ACL without the channel is no reason to fail.
local function announce(key)
  redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'changes', key)
end

local function save_string(key, state, expires_ms)
  redis.call('SET', key, state, 'PX', expires_ms)
end

local rules = {}
for index = 1, next_number() do
  local algorithm, block, observe = algorithms[next_number()], next_number(), next_number() == 1
  local parameters = {}
  for parameter = 1, next_number() do parameters[parameter] = next_number() end
  rules[index] = {
    step = algorithm.step,
    refund = algorithm.refund,
    renew = algorithm.renew,
    save = algorithm.save or save_string,
    leases = algorithm.leases,
    block = block,
    observe = observe,
    parameters = parameters,
  }
end
