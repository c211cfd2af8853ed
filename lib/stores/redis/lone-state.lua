-- The state of a call's only key, if it is a string; one that holds another kind of value counts as absent.
--
-- KEYS  that of the call
-- ARGV  none
--
-- @needs prologue

-- Returns: the string at a key, false if there is none.
local function get(key)
  return redis.call('MGET', key)[1]
end
