-- Decides one hit on a plain rule that comes alone, as decide.lua does: what a call costs that is shared
-- with no other is mostly what it has to define and to read. The algorithm stands above as `algorithms[1]`.
--
-- KEYS  the hit's key
-- ARGV  now (see prologue.lua), cost (permits), then the rule's parameters
-- Returns  as decide.lua
--
-- @needs prologue, lone-state

local key, cost = KEYS[1], tonumber(ARGV[2])
local parameters = {}
for index = 3, #ARGV do parameters[index - 2] = tonumber(ARGV[index]) end

local algorithm = algorithms[1]
local allowed, remaining, wait, reset_after, state, expires_after =
  algorithm.step(key, now, cost, 0, nil, unpack(parameters))
if not allowed then
  wait = wait < 0 and -1 or -2 - wait
elseif cost > 0 then
  local expires_ms = milliseconds(expires_after)
  if algorithm.save then
    algorithm.save(key, state, expires_ms)
  else
    redis.call('SET', key, state, 'PX', string.format(INTEGER, expires_ms))
  end
end
return { now, remaining, wait, reset_after }
