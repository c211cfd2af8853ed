-- Finds the thresholds that a charge has crossed. See docs/adr/0105-thresholds.md.
--
-- KEYS  those of the call, and <key of a counter>:alert:<level>, which exists while the crossing of a threshold is not
--       reported again. It is derived from the key, so that requests do not carry it.
--
-- @needs protocol

-- Returns: a bit for each threshold that the charge has crossed and no process has reported since.
-- alerts  how long a crossing is not reported again (microseconds; 0: until the counter is reset), then for each threshold the
--         most permits that are left when it is crossed (-1: fewer than the cost)
local function crossed_by(key, alerts, remaining, cost, reset_after)
  local bits, kept_for = 0, alerts[1] > 0 and alerts[1] or reset_after
  for index = 2, #alerts do
    local level = alerts[index] < 0 and cost - 1 or alerts[index]
    if remaining <= level and remaining + cost > level then
      local name, ends_at = key .. ':alert:' .. alerts[index], string.format(INTEGER, now + kept_for)
      -- By an injected clock, it outlives its time.
      if slack_ms > 0 and (tonumber(redis.pcall('GET', name)) or 0) <= now then redis.pcall('UNLINK', name) end
      -- If it cannot be stored, as while the slot of a Cluster moves, the crossing may be reported again.
      if redis.pcall('SET', name, ends_at, 'NX', 'PX', milliseconds(kept_for)) then bits = bits + 2 ^ (index - 2) end
    end
  end
  return bits
end
