-- GCRA with proportional inheritance: the state also has the limit, and a rule with another limit scales the state.
--
-- KEYS  the rule's key: a string, `limit|state`, where state is that of gcra.lua
-- ARGV, Returns  see gcra.lua
--
-- @needs proportional, backlog

-- Scales the rate at which the backlog was charged. Its time stays: as many permits of the new limit as are the same
-- part of it.
local function scale(state, from, to)
  local s_instant, s_part, s_window, s_limit, s_until
  if string.byte(state) == 45 then -- '-'
    s_instant = EPOCH + (tonumber(string.sub(state, -DIGITS)) or 0)
    s_window = pace_of(tonumber(string.sub(state, 2, -DIGITS - 1)) or 1)
  else
    s_instant, s_part, s_window, s_limit, s_until =
      string.match(state, '^(%d+) ?(%d*):(%d+)/?(%d*) ?(%d*)$')
    if not s_instant then return false end
  end
  local limit = tonumber(s_limit) or 1
  local window = tonumber(s_window) * (from / limit)
  local instant, part = scale_part(tonumber(s_instant), tonumber(s_part) or 0, limit, to, window)
  local text = string.format(INTEGER, instant)
  if part > 0 then text = text .. ' ' .. string.format(INTEGER, part) end
  text = text .. ':' .. string.format(INTEGER, window) .. '/' .. string.format(INTEGER, to)
  return (s_until or '') == '' and text or text .. ' ' .. s_until
end

return proportional(algorithms['gcra'], scale)
