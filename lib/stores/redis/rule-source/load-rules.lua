-- Returns all live rules.
--
-- KEYS  see rule-version.lua
--       The rules are a hash. Field: the name of the rule, for an exception followed by a line break and the JSON of the
--       subject. Value: "<version> <end> <made> <counter> <JSON>": `end` and `made` in milliseconds since the epoch
--       (end 0: none), `counter` is "-" without counters of its own.
-- ARGV  the version in force in this process, the maximum number of rules
-- Returns  { version, why rules are lost (''), now (milliseconds), the policy by which Redis evicts these keys (''), the
--          rules in force that this process does not have (''), field, value, ... } as text
--
-- @needs rule-version

local size = redis.call('HLEN', rules)
if size > tonumber(ARGV[2]) then
  return redis.error_reply('ERR ' .. size .. ' live rules; allowed: at most ' .. ARGV[2])
end

-- Returns: the policy if Redis evicts keys without an expiry, as those of live rules are; '' without the right to INFO.
local function evicting()
  local info = redis.pcall('INFO', 'memory')
  if type(info) ~= 'string' or string.match(info, 'maxmemory:0[\r\n]') then return '' end
  return string.match(info, 'maxmemory_policy:(allkeys%-%a+)') or ''
end

-- Returns: the rules of the version in force, if this process has an earlier one.
local function kept()
  local text = not is_latest and beat and redis.call('GET', kept_key) or ''
  return string.match(text, '^[^\n]*') == (beat and beat.text) and text or ''
end

local all = redis.call('HGETALL', rules)
local loaded = { stored and stored.text or '', loss(all), whole(now), evicting(), kept() }
for _, part in ipairs(all) do
  loaded[#loaded + 1] = part
end
return loaded
