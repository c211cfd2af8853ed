-- What every script begins with: names, numbers and the time.
--
-- KEYS  none
-- ARGV  now (microseconds since the epoch, or '' for the server's time), then what stands below

-- A name that is found here is found faster than a global one.
local ARGV, KEYS, math, redis, string, tonumber, unpack = ARGV, KEYS, math, redis, string, tonumber, unpack

-- How an integer is spelled: %d is twice as fast, and right where the server's long has 64 bits.
local INTEGER, THREE_INTEGERS = '%d', '%d %d %d'
if string.format('%d', 2 ^ 52) ~= '4503599627370496' then INTEGER, THREE_INTEGERS = '%.0f', '%.0f %.0f %.0f' end

-- A clock that is not the server's may run slower than keys expire: they are kept an hour longer.
local now, slack_ms = tonumber(ARGV[1]), 3600000
if not now then
  local time = redis.call('TIME')
  now, slack_ms = tonumber(time[1]) * 1000000 + tonumber(time[2]), 0
end

-- A millisecond more than it takes, since Redis counts from when the command began, and TIME is later.
local function milliseconds(microseconds)
  return math.ceil(microseconds / 1000) + 1 + slack_ms
end
