-- Decides one hit on a plain rule that comes alone, as decide.lua does: what a call costs that is shared
-- with nobody is mostly what it has to define and to read. What it needs stands above: numbers.lua and the
-- algorithm, as `algorithms[1]`, with `get` as below.
--
-- KEYS  the hit's key
-- ARGV  now (microseconds since the epoch, or '' for the server's time), cost (permits), then the rule's
--       parameters
-- Returns  as decide.lua

local key, now, cost, slack_ms = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), 3600000
if not now then
  local time = redis.call('TIME')
  now, slack_ms = tonumber(time[1]) * 1000000 + tonumber(time[2]), 0
end

local parameters = {}
for index = 3, #ARGV do parameters[index - 2] = tonumber(ARGV[index]) end

local algorithm = algorithms[1]
local allowed, remaining, wait, reset_after, state, expires_after =
  algorithm.step(key, now, cost, 0, nil, unpack(parameters))
if not allowed then
  wait = wait < 0 and -1 or -2 - wait
elseif cost > 0 then
  local expires_ms = math.ceil(expires_after / 1000) + 1 + slack_ms -- as `milliseconds` of protocol.lua
  if algorithm.save then
    algorithm.save(key, state, expires_ms)
  else
    redis.call('SET', key, state, 'PX', string.format(INTEGER, expires_ms))
  end
end
return { now, remaining, wait, reset_after }
