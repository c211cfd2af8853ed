-- Adds texts to a list that all processes share, removes those that have ended, and keeps those that end last. The list
-- expires with its last text.
--
-- KEYS  the list: a sorted set of texts, each scored with the instant at which it ends
-- ARGV  the time of the process, the maximum number of texts, then the end and the text of each that is added, at least one
--       (times in milliseconds since the epoch)
-- Returns  nothing

local list, now, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

for _, ended in ipairs(redis.call('ZRANGE', list, '-inf', '(' .. ARGV[1], 'BYSCORE')) do
  redis.call('ZREM', list, ended)
end
for index = 3, #ARGV, 2 do redis.call('ZADD', list, ARGV[index], ARGV[index + 1]) end
redis.call('ZREMRANGEBYRANK', list, 0, -most - 1)
local last = redis.call('ZRANGE', list, 0, 0, 'REV', 'WITHSCORES')
redis.call('PEXPIRE', list, string.format('%.0f', math.max(1, math.ceil(tonumber(last[2]) - now))))
