-- Tells who remembers a counter that it has changed. An ACL without the channel is no reason to fail.
local function announce(key, is_reset)
  redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'changes', is_reset and ' ' .. key or key)
end
