-- Stores, replaces or removes a live rule.
--
-- KEYS  the rules (a hash: see load-rules.lua), the version (text), the history (a list, the latest first)
-- ARGV  field, JSON of the change ('': removes it), duration (milliseconds; 0: without end), expected version
--       ('': any), whether new counters start ('1'), JSON of the record, maximum number of rules, and of records
-- Returns  { 'ok' | 'conflict' | 'full', the version after that, number of replicas that are online (only with 'ok') } as text
--
-- A version is the server's time in microseconds, or one more than the last: it grows also after a restart that has lost
-- the last changes, so that no process mistakes old rules for new ones.

local rules, version_key, history = KEYS[1], KEYS[2], KEYS[3]
local field, change, duration, expected = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

-- Returns: the version, the end and the counter of a rule; nil if another program wrote something else.
local function parsed(held)
  return string.match(held or '', '^(%d+) (%d+) %d+ (%S+) ')
end

local function is_over(held)
  local _, until_text = parsed(held)
  local until_ms = tonumber(until_text) or 0
  return until_ms > 0 and until_ms <= now
end

-- Returns: the last version; 0 if there is none, or one that another program wrote, whose successor would be inexact.
local function last_version()
  local last = tonumber((string.match(redis.call('GET', version_key) or '', '^%d+$'))) or 0
  return last < 2 ^ 53 - 1 and last or 0
end

local held = redis.call('HGET', rules, field)
if held and is_over(held) then held = false end
local current, _, counter = parsed(held)
current, counter = current or '0', counter or '-'
if expected ~= '' and expected ~= current then return { 'conflict', current } end

if change ~= '' and redis.call('HEXISTS', rules, field) == 0 and redis.call('HLEN', rules) >= tonumber(ARGV[7]) then
  local all = redis.call('HGETALL', rules)
  for index = 1, #all, 2 do
    if is_over(all[index + 1]) then redis.call('HDEL', rules, all[index]) end
  end
  if redis.call('HLEN', rules) >= tonumber(ARGV[7]) then return { 'full', current } end
end

local version = whole(math.max(last_version() + 1, time[1] * 1000000 + time[2]))
if ARGV[5] == '1' then counter = version end
local ends = duration > 0 and whole(now + duration) or '0'
if change == '' then
  redis.call('HDEL', rules, field)
else
  redis.call('HSET', rules, field, table.concat({ version, ends, whole(now), counter, change }, ' '))
end
redis.call('SET', version_key, version)
redis.call('LPUSH', history, table.concat({ version, whole(now), ARGV[6] }, ' '))
redis.call('LTRIM', history, 0, tonumber(ARGV[8]) - 1)
redis.pcall('PUBLISH', rules .. ':changes', version) -- Without the right to publish, processes find the version.
local replication = redis.pcall('INFO', 'replication') -- Without the right to it, no replica is waited for.
local _, replicas = string.gsub(type(replication) == 'string' and replication or '', 'state=online', '')
return { 'ok', version, whole(replicas) }
