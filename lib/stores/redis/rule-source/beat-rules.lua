-- Records the version in force in this process, so that one that starts after a loss finds it too.
--
-- KEYS  see rule-version.lua
-- ARGV  the version in force in this process, how long it is kept (milliseconds)
-- Returns  { version, why rules are lost (''), now (milliseconds), 'earlier' if other processes may have later rules ('') } as text
--
-- @needs rule-version

local kept_for = tonumber(ARGV[2])
-- A third of the time: all processes together write once in it.
if is_latest and (not beat or beat.text ~= own.text or math.abs(now - beat.at) > kept_for / 3) then
  redis.pcall('SET', beat_key, own.text .. ' ' .. whole(now), 'PX', kept_for)
end
return { stored and stored.text or '', loss(), whole(now), is_latest and '' or 'earlier' }
