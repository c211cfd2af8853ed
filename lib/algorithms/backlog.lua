-- A backlog: a state that is one instant, by which all that has been taken is made up for.
--
-- KEYS  a string, `instant` or `instant part` (microseconds; part in 1/limit of one)

-- Returns: how far the instant is ahead of now (microseconds, part); 0 if it has passed.
local function read(key, now, limit)
  local stored = get(key)
  if not stored then return 0, 0 end
  local instant, part = tonumber(stored), 0
  if not instant then
    instant, part = string.match(stored, '^(%d+) (%d+)$')
    instant, part = tonumber(instant) or now, math.min(tonumber(part) or 0, limit - 1)
  end
  if instant < now then return 0, 0 end
  return instant - now, part
end

-- Returns: the state for an instant so far ahead, and when it may be forgotten.
local function write(now, ahead, part)
  local instant = string.format(INTEGER, now + ahead)
  if part == 0 then return instant, ahead end
  return instant .. ' ' .. string.format(INTEGER, part), ahead + 1
end
