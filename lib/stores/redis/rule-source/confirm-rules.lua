-- Ends a loss of live rules, as an operator decides.
--
-- KEYS  see rule-version.lua
-- ARGV  the version in force in this process, the rules of that version as JSON (a list: field, value, ...) to restore
--       them ('': accepts the stored rules), JSON of the record, maximum number of records
-- Returns  { 'ok', the version after that, number of replicas that are online }, { 'whole' } if nothing is lost,
--          { 'unknown' } if another process has later rules, or { 'gone' } if no process has any, as text
--
-- @needs rule-version

local all = redis.call('HGETALL', rules)
if loss(all) == '' then return { 'whole' } end
if ARGV[2] ~= '' then
  if not is_latest then return { beat and 'unknown' or 'gone' } end
  for index = 1, #all, 2 do
    redis.call('HDEL', rules, all[index])
  end
  local parts = cjson.decode(ARGV[2])
  for index = 1, #parts, 2 do
    redis.call('HSET', rules, parts[index], moved(parts[index + 1]))
  end
end
return save(next_number(), ARGV[3], ARGV[4])
