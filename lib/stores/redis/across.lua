-- Decides requests whose keys are in several slots of a server of a Cluster. See docs/adr/0114-one-call-a-server.md.
--
-- KEYS  none, since those of a call must be in one slot
-- ARGV  a key of another server, to test whether this one rejects it ('' if it is known to); how many keys follow; the keys;
--       then the arguments of decide.lua
-- Returns  see decide.lua; the error TRYAGAIN if a key is not on this server, or that of another one is not rejected: then
--          nothing is decided
--
-- @needs decide

-- Whether the server rejects a key of another server.
local function is_rejected(key)
  local reply = redis.pcall('PTTL', key)
  return type(reply) == 'table' and string.find(reply.err, 'non local key', 1, true)
end

local function across(_, all)
  if all[1] ~= '' and not is_rejected(all[1]) then
    error({ err = 'TRYAGAIN the server does not test to which server a key belongs' })
  end
  local count = tonumber(all[2])
  local call_keys, call_argv, exists = {}, {}, {}
  for index = 1, count do
    local key = all[index + 2]
    local expires = redis.pcall('PTTL', key)
    if type(expires) == 'table' then error({ err = 'TRYAGAIN ' .. expires.err }) end
    call_keys[index], exists[index] = key, expires ~= -2
  end
  for index = count + 3, #all do call_argv[#call_argv + 1] = all[index] end
  call_argv.exists = exists
  return decide(call_keys, call_argv)
end
