-- The states that are strings, as this call sees them, by their places in KEYS: read all at once when the first
-- is asked for, and written once at the end, however many requests of the call have changed them.
--
-- KEYS  those of the call; one that holds another kind of value counts as absent
-- ARGV  none
--
-- @needs prologue

local states, unsaved, expiries = nil, {}, {}

-- How many keys one command reads: unpack fails above 8,000.
local MOST_READ = 1000

local function read_all()
  if #KEYS <= MOST_READ then return redis.call('MGET', unpack(KEYS)) end
  local all = {}
  for first = 1, #KEYS, MOST_READ do
    local some = redis.call('MGET', unpack(KEYS, first, math.min(first + MOST_READ - 1, #KEYS)))
    for _, state in ipairs(some) do all[#all + 1] = state end
  end
  return all
end

-- Returns: the string at a key, false if there is none.
local function get(place)
  if not states then states = read_all() end
  return states[place]
end

local function put(place, state, expires_ms)
  if not expiries[place] then unsaved[#unsaved + 1] = place end
  states[place], expiries[place] = state, expires_ms
end

local function save_all()
  local expires_ms, spelled
  for index = 1, #unsaved do
    local place = unsaved[index]
    if expiries[place] ~= expires_ms then
      expires_ms = expiries[place]
      spelled = string.format(INTEGER, expires_ms) -- the server takes longer for a number
    end
    redis.call('SET', KEYS[place], states[place], 'PX', spelled)
  end
end
