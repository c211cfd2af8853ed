-- Announces that a counter has changed, or was reset, to the processes that cache its denials. An ACL without the
-- channel is no reason to fail.
--
-- @needs call
local function announce(key, is_reset)
  redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'changes', is_reset and ' ' .. key or key)
end
