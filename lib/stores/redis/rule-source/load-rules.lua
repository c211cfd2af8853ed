-- Returns all live rules.
--
-- KEYS  the rules, the version (text)
--       The rules are a hash. Field: the name of the rule, for an exception followed by a line break and the JSON of the
--       subject. Value: "<version> <end> <made> <counter> <JSON>": `end` and `made` in milliseconds since the epoch
--       (end 0: none), `counter` is "-" without counters of its own.
-- ARGV  the maximum number of rules
-- Returns  { version, now (milliseconds), field, value, ... } as text

local size = redis.call('HLEN', KEYS[1])
if size > tonumber(ARGV[1]) then
  return redis.error_reply('ERR ' .. size .. ' live rules; allowed: at most ' .. ARGV[1])
end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local loaded = { redis.call('GET', KEYS[2]) or '0', now }
for _, part in ipairs(redis.call('HGETALL', KEYS[1])) do
  loaded[#loaded + 1] = part
end
return loaded
