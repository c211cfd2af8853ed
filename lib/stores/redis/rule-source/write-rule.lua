-- Stores, replaces or removes a live rule.
--
-- KEYS  see rule-version.lua
-- ARGV  the version in force in this process, field, JSON of the change ('': removes it), duration (milliseconds; 0: without
--       end), expected version ('': any), whether new counters start ('1'), JSON of the record, maximum number of rules, and
--       of records
-- Returns  { 'ok' | 'conflict' | 'full', the version after that, number of replicas that are online (only with 'ok') }, or
--          { 'lost', why }, as text
--
-- @needs rule-version

local field, change, duration, expected = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]

-- Returns: the version, the end and the counter of a rule; nil if another program wrote something else.
local function parsed(held)
  return string.match(held or '', '^(%d+) (%d+) %d+ (%S+) ')
end

local function is_over(held)
  local _, until_text = parsed(held)
  local until_ms = tonumber(until_text) or 0
  return until_ms > 0 and until_ms <= now
end

local why = loss(redis.call('HGETALL', rules))
if why ~= '' then return { 'lost', why } end

local held = redis.call('HGET', rules, field)
if held and is_over(held) then held = false end
local current, _, counter = parsed(held)
current, counter = current or '0', counter or '-'
if expected ~= '' and expected ~= current then return { 'conflict', current } end

if change ~= '' and redis.call('HEXISTS', rules, field) == 0 and redis.call('HLEN', rules) >= tonumber(ARGV[8]) then
  local all = redis.call('HGETALL', rules)
  for index = 1, #all, 2 do
    if is_over(all[index + 1]) then redis.call('HDEL', rules, all[index]) end
  end
  if redis.call('HLEN', rules) >= tonumber(ARGV[8]) then return { 'full', current } end
end

local number = next_number()
if ARGV[6] == '1' then counter = whole(number) end
local ends = duration > 0 and whole(now + duration) or '0'
if change == '' then
  redis.call('HDEL', rules, field)
else
  redis.call('HSET', rules, field, table.concat({ whole(number), ends, whole(now), counter, change }, ' '))
end
return save(number, ARGV[7], ARGV[9])
