-- Sliding window counter with proportional inheritance: the state also has the limit, and a rule with another limit scales the state.
--
-- KEYS  the rule's key: a string, `limit|state`, where state is that of sliding-window-counter.lua
-- ARGV, Returns  see sliding-window-counter.lua
--
-- @needs proportional

local function scale(state, from, to)
  local start, current, previous, rest = string.match(state, '^(%d+) (%d+) (%d+)( .*)$')
  if not start then return false end
  current, previous = scale_count(current, from, to), scale_count(previous, from, to)
  return start .. ' ' .. string.format(INTEGER, current) .. ' ' .. string.format(INTEGER, previous) .. rest
end

return proportional(algorithms['sliding-window-counter'], scale)
