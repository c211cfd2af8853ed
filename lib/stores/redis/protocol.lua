-- Reads what a call goes by. The algorithms in use stand above, as `algorithms[1]`, `algorithms[2]`, …
--
-- KEYS  each key of the call once
-- ARGV  now        see prologue.lua
--       rules      JSON, a list of: algorithm (index), block (microseconds; 0: blocks only when told to;
--                  -1: cannot block), shadow (1: its denial denies nothing else), parameters (a list of
--                  integers, in the order of the algorithm's functions)
--       arguments  JSON, a list: what the script's own part takes
--       places     JSON, a list: which of KEYS is meant by the first, the second, …; only if one is meant twice
--
-- An example: three requests of one turn, decided by decide.lua with gcra as `algorithms[1]` and
-- sliding-window-log as `algorithms[2]`. The subjects ann and bob each consume a permit of a rule of gcra (100
-- permits per minute), then a peek at ann's counter of that rule, and of a rule of a log (5 permits per hour, whose
-- denials block for a minute):
--
-- KEYS  rl{ann}api  rl{bob}api  rl{ann}login  rl{ann}login:block
-- ARGV  ''                                               the server's time
--       [[1,-1,0,[100,60000000,100,60000000,0]],         rule 1: gcra, no block, enforced; limit, window, burst,
--                                                        full, full_part
--        [2,60000000,0,[5,3600000000]]]                  rule 2: log, blocks for a minute; limit, window
--       [2,1, 1,1,  1,-2,1,0, 1,1, 2,1]                  2 times 1 hit: rule 1, cost 1; then
--                                                        1 time 2 hits, and charge nothing (1), patience 0:
--                                                        rule 1, cost 1; rule 2, cost 1
--       [1,2,1,3,4]                                      the third key that is meant is KEYS[1] again
--
-- Reply  now, 99,0,600000, 99,0,600000,                  each request: remaining, wait, reset_after
--        99,0,600000, 5,0,0                              the peek, which charges nothing
--
-- @needs prologue, states

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
    shadow = rule[3] == 1,
    parameters = rule[4],
    plain = rule[2] < 0 and not algorithm.leases and not algorithm.save,
  }
end

-- Returns: what a rule's functions find a state by: a string by its place in KEYS, another kind by its key.
local function key_of(rule, index)
  local place = places and places[index] or index
  return rule.save and KEYS[place] or place
end
