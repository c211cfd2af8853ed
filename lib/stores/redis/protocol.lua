-- Reads what every call of the store begins with: the clock and the rules.
--
-- ARGV  now        microseconds since the epoch, or '' for the server's time
--       rules      JSON, a list of: algorithm (index), block (microseconds; 0: blocks only when told to;
--                  -1: cannot block), observe (1: does not count for its request), parameters (a list of
--                  integers, in the order of the algorithm's functions)
--       arguments  JSON, a list: what the script's own part takes

local now, rules, arguments = tonumber(ARGV[1]), cjson.decode(ARGV[2]), cjson.decode(ARGV[3])

local key_index = 0

local function next_key()
  key_index = key_index + 1
  return KEYS[key_index]
end

-- A clock that is not the server's may run slower than keys expire: they are kept an hour longer.
local slack_ms = 3600000
if not now then
  local time = redis.call('TIME')
  now, slack_ms = tonumber(time[1]) * 1000000 + tonumber(time[2]), 0
end

-- A millisecond more than it takes, since Redis counts from when the command began, and TIME is later.
local function milliseconds(microseconds)
  return math.ceil(microseconds / 1000) + 1 + slack_ms
end

for index, rule in ipairs(rules) do
  local algorithm = algorithms[rule[1]]
  rules[index] = {
    step = algorithm.step,
    refund = algorithm.refund,
    renew = algorithm.renew,
    save = algorithm.save, -- nil if the state is a string
    leases = algorithm.leases,
    block = rule[2],
    observe = rule[3] == 1,
    parameters = rule[4],
    plain = rule[2] < 0 and not algorithm.leases and not algorithm.save,
  }
end
