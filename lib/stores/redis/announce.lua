-- Announces that a counter was changed or reset, to the processes that cache its denials. A missing right to the channel
-- is not an error.
--
-- @needs call
local function announce(key, is_reset)
  redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'changes', is_reset and ' ' .. key or key)
end
