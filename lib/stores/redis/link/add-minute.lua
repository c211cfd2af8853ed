-- Adds the counts of a process to a minute that all processes share, and replaces its record in the same step, so that no
-- count is in both or in neither.
--
-- KEYS  the minute (JSON, see below), the receipt of the process, its record
-- ARGV  the minute (since the epoch), the counts (JSON), whether they are complete ('1'), the record ('': deletes it), how
--       long the record is kept, how long the minute is kept (milliseconds), the maximum number of rules in a minute
-- Returns  1 if they were added, 0 if the minute has them already
--
-- The receipt is the last minute that the process has added, and its counts unless they are complete. Counts of that minute
-- replace those of the receipt: a call that is repeated after a lost reply, or the return of a process whose last record
-- another one has added, counts nothing twice.
--
-- Counts are { all = { allowed, denied, fallback }, rules = { <rule> = { allowed, denied } }, others = { allowed, denied } }.

local minute, is_complete, record = tonumber(ARGV[1]), ARGV[3] == '1', ARGV[4]
local kept_for, most = ARGV[6], tonumber(ARGV[7])

local function add(sum, part, sign)
  for index, count in ipairs(part) do sum[index] = (sum[index] or 0) + sign * count end
end

-- Adds counts (sign 1) or takes them off (sign -1).
local function add_all(sum, part, sign)
  add(sum.all, part.all, sign)
  add(sum.others, part.others, sign)
  for rule, counts in pairs(part.rules) do
    if sign > 0 and not sum.rules[rule] then sum.rules[rule] = { 0, 0 } end
    add(sum.rules[rule] or sum.others, counts, sign)
  end
end

-- Adds the rules with the fewest results to the others, so that the busiest ones stay.
local function trim(sum)
  local names = {}
  for rule in pairs(sum.rules) do names[#names + 1] = rule end
  table.sort(names, function(one, other)
    local a, b = sum.rules[one], sum.rules[other]
    local first, second = a[1] + a[2], b[1] + b[2]
    if first ~= second then return first > second end
    return one < other
  end)
  for index = most + 1, #names do
    add(sum.others, sum.rules[names[index]], 1)
    sum.rules[names[index]] = nil
  end
end

local last, part = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) (.*)$')
last = tonumber(last) or 0
local is_new = minute > last or minute == last and part ~= ''
if is_new then
  local sum = cjson.decode(redis.call('GET', KEYS[1]) or '{"all":[0,0,0],"rules":{},"others":[0,0]}')
  if minute == last then add_all(sum, cjson.decode(part), -1) end
  add_all(sum, cjson.decode(ARGV[2]), 1)
  trim(sum)
  redis.call('SET', KEYS[1], cjson.encode(sum), 'PX', kept_for)
  redis.call('SET', KEYS[2], ARGV[1] .. ' ' .. (is_complete and '' or ARGV[2]), 'PX', kept_for)
end
if record == '' then
  redis.call('UNLINK', KEYS[3])
else
  redis.call('SET', KEYS[3], record, 'PX', ARGV[5])
end
return is_new and 1 or 0
