-- Reads what a call goes by. What prologue.lua gives stands above.
--
-- ARGV  now        see prologue.lua
--       rules      JSON, a list of: algorithm (index), block (microseconds; 0: blocks only when told to;
--                  -1: cannot block), observe (1: does not count for its request), parameters (a list of
--                  integers, in the order of the algorithm's functions)
--       arguments  JSON, a list: what the script's own part takes
--       places     JSON, a list: which of KEYS is meant by the first, the second, …; only if one is meant twice

local rules, arguments, places = cjson.decode(ARGV[2]), cjson.decode(ARGV[3]), ARGV[4] and cjson.decode(ARGV[4])

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

-- Returns: what a rule's functions find a state by: a string by its place in KEYS, another kind by its key.
local function key_of(rule, index)
  local place = places and places[index] or index
  return rule.save and KEYS[place] or place
end
