-- Reads the rules and arguments of a call. The algorithms precede this file, by name in `algorithms`.
--
-- KEYS  the keys of the call, without duplicates
-- ARGV  now        see call.lua
--       rules      JSON, a list of: algorithm (name), block (microseconds; 0: only block.lua blocks; -1: cannot block),
--                  denials (0: deny the request; 1: do not, in shadow mode; 2: deny the request, and the process may
--                  cache them), parameters (a list of integers, in the order of the algorithm's functions), and only with
--                  thresholds: alerts (see alerts.lua)
--       arguments  JSON, a list: the arguments of the function; absent for decide.lua: [1,1,1,1], a hit of cost 1
--       positions     JSON, a list: the position in KEYS of the first key, the second key, …; absent without duplicates
--
-- An example: three requests of one turn, decided by decide.lua. The subjects ann and bob each consume a permit of a
-- gcra rule (100 permits per minute). The third request is a peek at ann's counters of that rule and of a
-- sliding-window-log rule (5 permits per hour, denials block for a minute):
--
-- KEYS  rl{ann}api  rl{bob}api  rl{ann}login  rl{ann}login:block
-- ARGV  ''                                               the server's time
--       [["gcra",-1,0,[100,60000000,100,60000000,0,60000000,0]],
--                                                        rule 1: no block, enforced; limit, window, burst, full,
--                                                        full_part, time, overdraft
--        ["sliding-window-log",60000000,0,[5,3600000000]]]
--                                                        rule 2: blocks for a minute; limit, window
--       [2,1, 1,1,  1,-2,1,0, 1,1, 2,1]                  2 times 1 hit: rule 1, cost 1; then
--                                                        1 time 2 hits, and charge nothing (1), max_wait 0:
--                                                        rule 1, cost 1; rule 2, cost 1
--       [1,2,1,3,4]                                      the third key is KEYS[1] again
--
-- Reply  (numbers, packed into one string, see decide.lua)
--        now, 99,0,600000, 99,0,600000,                  each request: remaining, wait, reset_after
--        99,0,600000, 5,0,0                              the peek, which charges nothing
--        99,0,600000, -40000000,-90000002,90000000       the same peek if ann is blocked for 40 s, and no permit is
--                                                        free for 90 s
--
-- @needs call

-- Maximum number of decoded texts that are cached between calls, and their maximum length (bytes).
local MOST_KNOWN, LONGEST_KNOWN = 500, 500

local rules, arguments, positions

-- Returns: a function that decodes a text and caches the result, since the calls of a process repeat a few texts.
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
      clear = algorithm.clear,
      save = algorithm.save, -- nil if the state is a string
      leases = algorithm.leases,
      block = rule[2] >= 0 and rule[2] or nil, -- nil if it cannot block
      shadow = rule[3] == 1,
      caches = rule[3] == 2 and rule[2] <= 0 and not algorithm.leases,
      parameters = rule[4],
      alerts = rule[5], -- nil if it has no thresholds
      -- whether a charge stores and reports nothing else than the state
      plain = rule[2] < 0 and rule[3] ~= 1 and not rule[5] and not algorithm.leases and not algorithm.clear,
    }
  end
  return compiled
end

local rules_of, arguments_of = remembering(compile), remembering(cjson.decode)

local function begin_call(call_keys, call_argv)
  begin(call_keys, call_argv)
  rules, arguments = rules_of(argv[2]), arguments_of(argv[3])
  positions = argv[4] and cjson.decode(argv[4])
end

-- Returns: the position in KEYS of the first key, the second key, …
local function position_of(index)
  return positions and positions[index] or index
end

-- Returns: the argument by which a rule's functions find a state: the position in KEYS for a string, otherwise the key.
local function key_of(rule, index)
  local position = positions and positions[index] or index
  return rule.save and keys[position] or position
end
