-- Scales the consumed permits of a window.
--
-- @needs proportional

-- Returns: the state, scaled from one limit to another.
local function scale_window(state, from, to)
  local count, start, debt, window = string.match(state, '^(%d+) (%d+) (%d+) (%d+)$')
  if not count then return false end
  count, debt = scale_count(count, from, to), scale_count(debt, from, to)
  return string.format(INTEGER, count) .. ' ' .. start .. ' ' .. string.format(INTEGER, debt) .. ' ' .. window
end
