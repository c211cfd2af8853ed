-- What every script begins with.

-- A name that is found here is found faster than a global one.
local KEYS, math, redis, string, tonumber, unpack = KEYS, math, redis, string, tonumber, unpack

-- How an integer is spelled: %d is twice as fast, and right where the server's long has 64 bits.
local INTEGER, THREE_INTEGERS = '%d', '%d %d %d'
if string.format('%d', 2 ^ 52) ~= '4503599627370496' then INTEGER, THREE_INTEGERS = '%.0f', '%.0f %.0f %.0f' end
