-- Tries commands, and finds those that the server does not permit this user, or does not support.
--
-- KEYS  a key that is not used otherwise: it exists neither before nor after
-- ARGV  see protocol.lua, without rules; the arguments are names of commands
-- Returns  0; if the server rejects some, a list of one text: the first error, and the names of all rejected commands
--
-- @needs protocol

-- Each command with arguments that change nothing. The first write is one that a server without memory rejects: after
-- another write, it would accept it.
local function trials_on(key)
  return {
    { 'SET', key, '', 'XX', 'PX', 1 },
    { 'ZADD', key, 'XX', 0, '' },
    { 'LTRIM', key, 0, -1 },
    { 'PEXPIRE', key, 1 },
    { 'PTTL', key },
    { 'UNLINK', key },
    { 'ZREM', key, '' },
    { 'ZREMRANGEBYRANK', key, 0, -1 },
    { 'TIME' },
    { 'GET', key },
    { 'MGET', key },
    { 'LINDEX', key, 0 },
    { 'LLEN', key },
    { 'LRANGE', key, 0, -1 },
    { 'ZCARD', key },
    { 'ZCOUNT', key, '-inf', '+inf' },
    { 'ZRANGE', key, 0, -1 },
    { 'ZSCORE', key, '' },
  }
end

local function rights(...)
  begin_call(...)
  local key = keys[1]
  local is_needed, refused, failure = {}, {}, nil
  for _, name in ipairs(arguments) do is_needed[name] = true end

  -- A missing list is not a rejection.
  local function try(name, ...)
    if not is_needed[name] then return end
    local reply = redis.pcall(name, ...)
    local why = type(reply) == 'table' and reply.err
    if not why or string.find(why, 'no such key', 1, true) then return end
    refused[#refused + 1], failure = name, failure or why
  end

  for _, trial in ipairs(trials_on(key)) do try(unpack(trial)) end
  -- RPUSH always writes, so it is tried only if the key can be deleted.
  if not failure then
    try('RPUSH', key, '')
    redis.call('UNLINK', key)
  end

  return failure and { failure .. ' (' .. table.concat(refused, ', ') .. ')' } or 0
end
