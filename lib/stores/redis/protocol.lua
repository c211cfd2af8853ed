-- Reads what a call goes by. The algorithms stand above, by their names in `algorithms`.
--
-- KEYS  each key of the call once
-- ARGV  now        see call.lua
--       rules      JSON, a list of: algorithm (name), block (microseconds; 0: blocks only when told to;
--                  -1: cannot block), shadow (1: its denial denies nothing else), parameters (a list of
--                  integers, in the order of the algorithm's functions)
--       arguments  JSON, a list: what the function takes
--       places     JSON, a list: which of KEYS is meant by the first, the second, …; only if one is meant twice
--
-- An example: three requests of one turn, decided by decide.lua. The subjects ann and bob each consume a permit of a rule of gcra (100
-- permits per minute), then a peek at ann's counter of that rule, and of a rule of a log (5 permits per hour, whose
-- denials block for a minute):
--
-- KEYS  rl{ann}api  rl{bob}api  rl{ann}login  rl{ann}login:block
-- ARGV  ''                                               the server's time
--       [["gcra",-1,0,[100,60000000,100,60000000,0]],    rule 1: no block, enforced; limit, window, burst, full,
--                                                        full_part
--        ["sliding-window-log",60000000,0,[5,3600000000]]]
--                                                        rule 2: blocks for a minute; limit, window
--       [2,1, 1,1,  1,-2,1,0, 1,1, 2,1]                  2 times 1 hit: rule 1, cost 1; then
--                                                        1 time 2 hits, and charge nothing (1), patience 0:
--                                                        rule 1, cost 1; rule 2, cost 1
--       [1,2,1,3,4]                                      the third key that is meant is KEYS[1] again
--
-- Reply  now, 99,0,600000, 99,0,600000,                  each request: remaining, wait, reset_after
--        99,0,600000, 5,0,0                              the peek, which charges nothing
--
-- @needs call

-- How many texts are remembered from call to call, and how long they may be (bytes).
local MOST_KNOWN, LONGEST_KNOWN = 500, 500

local rules, arguments, places

-- Returns: a function that decodes a text, and remembers it: calls of a process repeat a few.
local function remembering(decode)
  local known, count = {}, 0
  return function(text)
    local decoded = known[text]
    if decoded then return decoded end
    decoded = decode(text)
    if #text > LONGEST_KNOWN then return decoded end
    if count == MOST_KNOWN then known, count = {}, 0 end
    known[text], count = decoded, count + 1
    return decoded
  end
end

local function compile(text)
  local compiled = cjson.decode(text)
  for index, rule in ipairs(compiled) do
    local algorithm = algorithms[rule[1]]
    compiled[index] = {
      step = algorithm.step,
      refund = algorithm.refund,
      renew = algorithm.renew,
      save = algorithm.save, -- nil if the state is a string
      leases = algorithm.leases,
      block = rule[2] >= 0 and rule[2] or nil, -- nil if it cannot block
      shadow = rule[3] == 1,
      parameters = rule[4],
    }
  end
  return compiled
end

local rules_of, arguments_of = remembering(compile), remembering(cjson.decode)

local function begin_call(call_keys, call_argv)
  begin(call_keys, call_argv)
  rules, arguments = rules_of(argv[2]), arguments_of(argv[3])
  places = argv[4] and cjson.decode(argv[4])
end

-- Returns: which of KEYS is meant by the first, the second, …
local function place_of(index)
  return places and places[index] or index
end

-- Returns: what a rule's functions find a state by: a string by its place in KEYS, another kind by its key.
local function key_of(rule, index)
  local place = places and places[index] or index
  return rule.save and keys[place] or place
end
