-- The common start of every function. Provides the keys, the arguments and the time of a call, and the states that are
-- strings, as this call sees them: read all at once when the first is needed, and written once at the end, however many
-- requests of the call have changed them.
--
-- KEYS  those of the call
-- ARGV  now (microseconds since the epoch, or '' for the server's time), then the arguments of the function; `exists` only
--       for keys of several slots: a list, whether each exists

-- Local names are looked up faster than global ones.
local cjson, ipairs, math, pcall, redis, setmetatable = cjson, ipairs, math, pcall, redis, setmetatable
local string, struct, tonumber, type, unpack = string, struct, tonumber, type, unpack

-- The format of integers: %d is twice as fast, and correct if the server's long has 64 bits.
local INTEGER, THREE_INTEGERS = '%d', '%d %d %d'
if string.format('%d', 2 ^ 52) ~= '4503599627370496' then INTEGER, THREE_INTEGERS = '%.0f', '%.0f %.0f %.0f' end

-- The formats of structs by the number of doubles.
local formats = {}

local function format_of(doubles)
  formats[doubles] = formats[doubles] or '<' .. string.rep('d', doubles)
  return formats[doubles]
end

-- Maximum number of keys that one command reads: unpack fails above 8,000.
local MOST_READ = 1000

local keys, argv, now, slack_ms

-- Steps of the clock up to this length (microseconds) move no state.
local SLACK = 1000000

-- Whether a state of the current request was written before the clock was set back, and moved by the difference.
local has_moved = false

-- The states by position in KEYS; the positions of those to write, and their expiries.
local states, unsaved, expiries = nil, {}, {}

-- Maximum number of list entries that the refunds of a call rewrite, and how many are left in this call.
local MOST_REWRITTEN, rewritable = 1000, 0

-- Whether the server is out of memory, but runs the function all the same. See docs/adr/0047-one-lua-library.md.
local is_full = false

local function begin(call_keys, call_argv)
  keys, argv = call_keys, call_argv
  states, rewritable = nil, MOST_REWRITTEN
  for index = #unsaved, 1, -1 do
    expiries[unsaved[index]], unsaved[index] = nil, nil
  end
  -- An injected clock may run slower than the server's, by which keys expire: they are kept an hour longer.
  now, slack_ms = tonumber(argv[1]), 3600000
  if not now then
    local time = redis.call('TIME')
    now, slack_ms = time[1] * 1000000 + time[2], 0
  end
end

-- Fails the request if an instant in a state is damaged: a number that lost a digit lies decades back, where every state
-- would count as expired. An injected clock may begin at zero, and step as far.
local function check_instant(instant)
  if slack_ms == 0 and instant < now / 2 then error({ err = 'INVALID_STATE' }) end
end

-- Returns: by how much the clock was set back since the instant at which a state was written (microseconds); 0 for a step
-- of at most a second.
local function set_back(written)
  local by = written - now
  if by <= SLACK then
    check_instant(written)
    return 0
  end
  has_moved = true
  return by
end

-- Returns: milliseconds for PX, rounded up without a call of a C function, and one more, since Redis counts from the start
-- of the command, and TIME is later.
local function milliseconds(microseconds)
  local most = microseconds + 999
  return (most - most % 1000) / 1000 + 1 + slack_ms
end

-- Fails if the server is out of memory, as the server itself does for a script that writes.
local function take_memory()
  if is_full then error({ err = "OOM command not allowed when used memory > 'maxmemory'" }) end
end

-- Returns: the same function for a server that is out of memory.
local function when_full(main)
  return function(...)
    is_full = true
    local done, reply = pcall(main, ...)
    is_full = false
    if not done then error(reply) end
    return reply
  end
end

-- Returns: whether an error concerns the value of one key.
local function is_of_key(failure)
  local message = type(failure) == 'table' and failure.err or failure
  return string.find(message, 'INVALID_STATE', 1, true) or string.find(message, 'WRONGTYPE', 1, true)
end

-- Fails the request: a key has a state that no algorithm wrote, or of another format. A state without an expiry gets one.
local function fail_unrecognised(position, window)
  local key = keys[position] or position
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, math.ceil(window / 1000)) end
  error({ err = 'INVALID_STATE' })
end

-- Takes the results of a pcall that reads the state of a key, and returns the reply. If the key has a value of another type,
-- the request fails.
local function read_state(key, window, done, reply)
  if done then return reply end
  if is_of_key(reply) then fail_unrecognised(key, window) end
  error(reply)
end

-- Returns: the string of a key; for a value of another type a text that no algorithm recognises.
local function read(key)
  local done, state = pcall(redis.call, 'GET', key)
  if not done and not is_of_key(state) then error(state) end
  return done and state or not done and ''
end

-- MGET reads a value of another type as false, see `check_new`. It cannot read several slots: their keys are read when they
-- are needed.
local function read_all()
  if #keys == 1 then return { read(keys[1]) } end
  local all, exists = {}, argv.exists
  if exists then
    return setmetatable(all, {
      __index = function(_, position)
        all[position] = exists[position] and read(keys[position])
        return all[position]
      end,
    })
  end
  if #keys <= MOST_READ then return redis.call('MGET', unpack(keys)) end
  for first = 1, #keys, MOST_READ do
    local some = redis.call('MGET', unpack(keys, first, math.min(first + MOST_READ - 1, #keys)))
    for _, state in ipairs(some) do all[#all + 1] = state end
  end
  return all
end

-- Returns: the string at a position in KEYS; false if there is none.
local function get(position)
  if not states then states = read_all() end
  return states[position]
end

-- Fails if the key of a new state has a value that is no string, so that it is not overwritten.
local function check_new(position, expires_after)
  if #keys == 1 or argv.exists then return end
  if states[position] == false and redis.call('PTTL', keys[position]) ~= -2 then
    fail_unrecognised(position, expires_after)
  end
end

-- Returns: the state of a block that begins now: its end and the instant at which it was written (microseconds since the
-- epoch), `end:written`.
local function block_text(duration)
  return string.format(INTEGER, now + duration) .. ':' .. string.format(INTEGER, now)
end

-- Stores a string at the end of the call.
local function put(position, state, expires_ms)
  if not expiries[position] then unsaved[#unsaved + 1] = position end
  states[position], expiries[position] = state, expires_ms
end

local function save_all()
  local expires_ms, spelled
  for index = 1, #unsaved do
    local position = unsaved[index]
    if expiries[position] ~= expires_ms then
      expires_ms = expiries[position]
      spelled = string.format(INTEGER, expires_ms) -- the server takes longer for a number
    end
    redis.call('SET', keys[position], states[position], 'PX', spelled)
  end
end
