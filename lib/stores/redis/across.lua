-- Decides requests whose keys are in several slots of a server of a Cluster. See docs/adr/0114-one-call-a-server.md.
--
-- KEYS  none, since those of a call must be in one slot
-- ARGV  how to test that each key is on this server or rejected: a key of another server, which must be rejected; 'all': this
--       server has all slots; '': it was tested before; then how many keys follow, the keys, and the arguments of decide.lua
-- Returns  see decide.lua; the error TRYAGAIN if the test fails, or a key is not on this server: then nothing is decided
--
-- @needs decide

local SLOTS = 16384

-- Whether this server rejects a key of another one.
local function is_rejected(key)
  local reply = redis.pcall('PTTL', key)
  return type(reply) == 'table' and string.find(reply.err, 'non local key', 1, true)
end

-- Whether this server is the only one of its Cluster that has slots.
local function has_all_slots()
  local ranges, slots = redis.pcall('CLUSTER', 'SLOTS'), 0
  for _, range in ipairs(ranges) do
    if range[3][3] ~= ranges[1][3][3] then return false end
    slots = slots + range[2] - range[1] + 1
  end
  return slots == SLOTS
end

local function passes(test)
  if test == 'all' then return has_all_slots() end
  return test == '' or is_rejected(test)
end

local function across(_, all)
  if not passes(all[1]) then error({ err = 'TRYAGAIN keys of other servers may not be rejected' }) end
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
