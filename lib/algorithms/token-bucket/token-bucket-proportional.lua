-- Token bucket with proportional inheritance: the state also has the limit, and a rule with another limit scales the state.
--
-- KEYS  the rule's key: a string, `limit|state`, where state is that of token-bucket.lua
-- ARGV, Returns  see token-bucket.lua
--
-- @needs proportional, rate

-- Scales the missing tokens, rounded up. What is rounded up is credited as time, so that nothing is lost if processes
-- with different limits alternate.
local function scale(state, from, to)
  local s_used, s_instant, s_part, s_window, s_limit, is_interval, s_until =
    string.match(state, '^(%d+) (%d+) ?(%d*):(%d+)/?(%d*)(i?) ?(%d*)$')
  if not s_used then return false end
  local limit = tonumber(s_limit) or 1
  local window = tonumber(s_window) * (from / limit)
  local used = scale_count(s_used, from, to)
  local instant, part = scale_part(tonumber(s_instant), tonumber(s_part) or 0, limit, to, window)
  local surplus = used * from - s_used * to
  if surplus > 0 and is_interval == '' then
    instant = instant - math.max(0, math.ceil(surplus / from * (window / to)) - 1)
  end
  local text = string.format(INTEGER, used) .. ' ' .. string.format(INTEGER, instant)
  if part > 0 then text = text .. ' ' .. string.format(INTEGER, part) end
  text = text .. ':' .. string.format(INTEGER, window) .. '/' .. string.format(INTEGER, to) .. is_interval
  return s_until == '' and text or text .. ' ' .. s_until
end

return proportional(algorithms['token-bucket'], scale)
