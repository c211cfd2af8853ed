-- Announces that a counter was changed or reset to the processes that cache its denials. A missing right to the channel is
-- not an error.
--
-- KEYS  those of the call, and <key of a counter>:denied, which exists while a process may have a cached denial of the
--       counter. It is derived from the key, so that requests do not carry it. See docs/adr/0083-published-refunds.md
--
-- @needs call

-- For how long a process caches a denial (microseconds), as in deny-cache.ts.
local CACHED_FOR = 1000000

local function announce(key, is_reset)
  redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'changes', is_reset and ' ' .. key or key)
end

-- Returns: why the mark of a cached denial was not written; nil if it was.
local function mark(key)
  return redis.pcall('SET', key .. ':denied', '', 'PX', milliseconds(CACHED_FOR)).err
end

-- Marks a counter whose denial a process may cache, even if the server is out of memory: then it accepts a SET after
-- another write. While the slot of a Cluster moves, there can be no mark, and the process drops the denial.
local function mark_denied(key)
  local failure = mark(key)
  if not failure then return end
  redis.pcall('PEXPIRE', key .. ':denied', milliseconds(CACHED_FOR))
  failure = mark(key)
  if failure and string.find(failure, 'non local key', 1, true) then announce(key) end
end

-- Announces a refund if a process may have a cached denial, or if that is unknown.
local function announce_refund(key)
  if redis.pcall('UNLINK', key .. ':denied') ~= 0 then announce(key) end
end
