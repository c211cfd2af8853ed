-- Tells who remembers denials that a counter has changed. An ACL without the channel is no reason to fail.
local function announce(key)
  redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'changes', key)
end
