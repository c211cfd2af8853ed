-- Tries commands, and finds those that the server refuses to this user, or does not have.
--
-- KEYS  a key that nothing else uses: it does not exist, before and after
-- ARGV  see protocol.lua, without rules; the arguments are names of commands
-- Returns  0; a list of one text if the server refuses some: its first error, and the names of all
--
-- @needs protocol

-- Each command with arguments by which it changes nothing. The first write is one that a server out of memory
-- refuses: behind another one it would not.
local function trials_on(key)
  return {
    { 'SET', key, '', 'XX', 'PX', 1 },
    { 'ZADD', key, 'XX', 0, '' },
    { 'LSET', key, 0, '' },
    { 'LTRIM', key, 0, -1 },
    { 'PEXPIRE', key, 1 },
    { 'PTTL', key },
    { 'UNLINK', key },
    { 'ZREM', key, '' },
    { 'ZREMRANGEBYRANK', key, 0, -1 },
    { 'TIME' },
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

  -- That there is no such list is no refusal.
  local function try(name, ...)
    if not is_needed[name] then return end
    local reply = redis.pcall(name, ...)
    local why = type(reply) == 'table' and reply.err
    if not why or string.find(why, 'no such key', 1, true) then return end
    refused[#refused + 1], failure = name, failure or why
  end

  for _, trial in ipairs(trials_on(key)) do try(unpack(trial)) end
  -- RPUSH alone cannot but write: only what can be deleted.
  if not failure then
    try('RPUSH', key, '')
    redis.call('UNLINK', key)
  end

  return failure and { failure .. ' (' .. table.concat(refused, ', ') .. ')' } or 0
end
