-- Records that a process uses a library of functions, and finds libraries that no process has used for a day.
--
-- KEYS  a sorted set: each library, scored with the instant (microseconds) at which a process last reported it as its
--       own, or at which it was first seen
-- ARGV  see protocol.lua, without rules; the arguments are the library in use, then the others on the servers
-- Returns  the indexes, from 1, of the others that can be deleted
--
-- @needs protocol

-- How long an unused library is kept, and how long the reports of a library are stored (microseconds).
local UNUSED_FOR, KNOWN_FOR = 86400000000, 172800000000

local function libraries(...)
  begin_call(...)
  local key, old = keys[1], {}
  redis.call('ZADD', key, string.format(INTEGER, now), arguments[1])
  for number = 1, #arguments - 1 do
    local named_at = tonumber(redis.call('ZSCORE', key, arguments[number + 1]) or nil)
    if not named_at then redis.call('ZADD', key, string.format(INTEGER, now), arguments[number + 1]) end
    if named_at and named_at + UNUSED_FOR <= now then old[#old + 1] = number end
  end
  redis.call('PEXPIRE', key, milliseconds(KNOWN_FOR))
  return old
end
