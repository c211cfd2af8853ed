-- The states that are strings, as this call sees them: read all at once when the first is asked for, and
-- written once at the end, however many requests of the call have changed them.
--
-- KEYS  those of the call; one that holds another kind of value counts as absent
-- ARGV  none

local states, unsaved, expiries = nil, {}, {}

-- Returns: the string at a key, false if there is none.
local function get(key)
  if not states then
    local stored = redis.call('MGET', unpack(KEYS))
    states = {}
    for index, each in ipairs(KEYS) do states[each] = stored[index] end
  end
  return states[key]
end

local function put(key, state, expires_ms)
  if not expiries[key] then unsaved[#unsaved + 1] = key end
  states[key], expiries[key] = state, expires_ms
end

local function save_all()
  local expires_ms, spelled
  for index = 1, #unsaved do
    local key = unsaved[index]
    if expiries[key] ~= expires_ms then
      expires_ms = expiries[key]
      spelled = string.format(INTEGER, expires_ms) -- the server takes longer for a number
    end
    redis.call('SET', key, states[key], 'PX', spelled)
  end
end
