-- Reads the rules that a call goes by. What prologue.lua gives stands above.
--
-- ARGV  now        see prologue.lua
--       rules      JSON, a list of: algorithm (index), block (microseconds; 0: blocks only when told to;
--                  -1: cannot block), observe (1: does not count for its request), parameters (a list of
--                  integers, in the order of the algorithm's functions)
--       arguments  JSON, a list: what the script's own part takes

local rules, arguments = cjson.decode(ARGV[2]), cjson.decode(ARGV[3])

local key_index = 0

local function next_key()
  key_index = key_index + 1
  return KEYS[key_index]
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
