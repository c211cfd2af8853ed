-- Sliding window cells with proportional inheritance: the state also has the limit, and a rule with another limit scales the state.
--
-- KEYS  the rule's key: a string, `limit|state`, where state is that of sliding-window-cells.lua
-- ARGV, Returns  see sliding-window-cells.lua
--
-- @needs proportional

-- Scales the sums of the newest cells, so that no sum is rounded twice, whichever cells have expired.
local function scale(state, from, to)
  local grid, counts = string.match(state, '^(%S+ %d+)( .*)$')
  if not grid then return false end
  local sum, scaled, texts = 0, 0, { grid }
  for count in string.gmatch(counts, '%d+') do
    sum = sum + tonumber(count)
    local reached = scale_count(sum, from, to)
    texts[#texts + 1] = string.format(INTEGER, reached - scaled)
    scaled = reached
  end
  return table.concat(texts, ' ')
end

return proportional(algorithms['sliding-window-cells'], scale)
