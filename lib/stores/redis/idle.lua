-- Reports for how long no process has called a function of this library. It is part of the library, but of no call: it
-- reads no key, and processes of any prefix and of any release may call it. See docs/adr/0048-idle-libraries.md.
--
-- KEYS  none
-- ARGV  now (microseconds since the epoch, or '' for the server's time)
-- Returns  microseconds since a call of this function first found that no other was called in between

local calls, calls_then, since = 0, -1, 0

local function idle(_, idle_argv)
  local instant = tonumber(idle_argv[1])
  if not instant then
    local time = redis.call('TIME')
    instant = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  if calls ~= calls_then then calls_then, since = calls, instant end
  return instant - since
end
