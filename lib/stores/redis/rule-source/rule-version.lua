-- Finds whether live rules were lost. It precedes every script of live rules.
--
-- KEYS  the rules (a hash, see load-rules.lua), the version, the history (a list, the latest first), the version in force,
--       and the rules in force (only while they are lost)
-- ARGV  the version in force in this process ('' without one)
--
-- A version is "<number> <first> <count> <hash> <end>": the server's time in microseconds, or one more than the last; the
-- number of the first version, which is another if the rules were written into an empty source; the number of rules, their
-- hash, and the last of their ends, in milliseconds ("0": all are removed, "none": one has no end). It is stored with the time at which it was written, in milliseconds. The version in force is the last that any
-- process has applied, with the time of its heartbeat.
--
-- If the clock was set back by more than a second since the rules were written, those that were made later than now are
-- moved by the difference: they keep the length that they had.

local rules, version_key, history, beat_key, kept_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Steps of the clock up to this length move no rule.
local SLACK_MS = 1000

local function whole(number)
  return string.format('%.0f', number)
end

-- Returns: a version; nil if there is none, or one that another program wrote, whose successor would be inexact.
local function parsed_version(text)
  local version, at = string.match(text or '', '^(%d+ %d+ %d+ %d+ %w+) ?(%d*)$')
  local number, first, count, hash, ends = string.match(version or '', '^(%d+) (%d+) (%d+) (%d+) (%w+)$')
  if not number or tonumber(number) >= 2 ^ 53 - 1 then return nil end
  return {
    text = version,
    number = tonumber(number),
    first = tonumber(first),
    count = tonumber(count),
    hash = hash,
    is_over = (tonumber(ends) or math.huge) <= now,
    at = tonumber(at) or 0,
  }
end

-- Returns: the hash of fields and values, whatever their order: the sum of their hashes.
local function hash_of(all)
  local sum = 0
  for index = 1, #all, 2 do
    local digest = redis.sha1hex(#all[index] .. ' ' .. all[index] .. all[index + 1])
    sum = (sum + tonumber(string.sub(digest, 1, 12), 16)) % 2 ^ 48
  end
  return whole(sum)
end

-- Returns: the last end of rules, see above.
local function end_of(all)
  local last = 0
  for index = 2, #all, 2 do
    local ends = tonumber(string.match(all[index], '^%d+ (%d+) ')) or 0
    if ends == 0 then return 'none' end
    last = math.max(last, ends)
  end
  return whole(last)
end

-- Returns: why the stored version is not what a version in force has become; '' if it is.
local function difference(stored, in_force)
  if not in_force then return '' end
  -- Rules that have ended cannot be missing.
  if in_force.is_over and (not stored or stored.first > in_force.first) then return '' end
  if not stored then return 'absent' end
  if stored.first > in_force.first then return 'anew' end
  if stored.number < in_force.number then return 'older' end
  return stored.number == in_force.number and stored.hash ~= in_force.hash and 'other' or ''
end

local stored = parsed_version(redis.call('GET', version_key))
local own = parsed_version(ARGV[1])
local beat = parsed_version(redis.call('GET', beat_key))

-- Returns: whether a version replaces another. Of two sources, the one that was begun first counts.
local function is_later(one, other)
  if one.first ~= other.first then return one.first < other.first end
  return one.number > other.number
end

local is_latest = own and not (beat and is_later(beat, own))

-- Returns: why rules are lost; '' if they are not. Without a version, rules that another program wrote are a fresh start.
local function loss(all)
  local reason = difference(stored, own)
  if reason == '' then reason = difference(stored, beat) end
  if reason ~= '' or not stored then return reason end
  local is_same = all and hash_of(all) == stored.hash or not all and redis.call('HLEN', rules) == stored.count
  return is_same and '' or 'changed'
end

-- The versions that there are: each may be nil.
local known = { stored = stored, own = own, beat = beat }

-- Returns: a number for the next version, higher than those that there are.
local function next_number()
  local last = 0
  for _, version in pairs(known) do last = math.max(last, version.number) end
  return math.max(last + 1, time[1] * 1000000 + time[2])
end

-- Stores the version of the rules as they are now.
local function save_version(number)
  local all = redis.call('HGETALL', rules)
  local first = number
  for _, version in pairs(known) do first = math.min(first, version.first) end
  local version = table.concat({ whole(number), whole(first), #all / 2, hash_of(all), end_of(all), whole(now) }, ' ')
  redis.call('SET', version_key, version)
  stored = parsed_version(version)
  known.stored = stored
end

-- Returns: a rule that was made before the clock was set back, moved by the difference.
local function moved(rule)
  local number, ends, made, rest = string.match(rule, '^(%d+) (%d+) (%d+)( .*)$')
  local by = (tonumber(made) or 0) - now
  if by <= SLACK_MS then return rule end
  if ends ~= '0' then ends = whole(tonumber(ends) - by) end
  return table.concat({ number, ends, whole(now) }, ' ') .. rest
end

-- Without memory or the right to write, the rules stay as they are, and this is tried again.
local function move()
  local all = redis.call('HGETALL', rules)
  if #all == 0 or loss(all) ~= '' then return end
  for index = 2, #all, 2 do all[index] = moved(all[index]) end
  local reply = redis.pcall('HSET', rules, unpack(all))
  if type(reply) == 'number' then save_version(next_number()) end
end

if stored and stored.at - now > SLACK_MS then move() end

-- Stores the version of the rules as they are now, and its record. Returns: see write-rule.lua.
local function save(number, record, most)
  save_version(number)
  redis.call('LPUSH', history, table.concat({ whole(number), whole(now), record }, ' '))
  redis.call('LTRIM', history, 0, tonumber(most) - 1)
  local replication = redis.pcall('INFO', 'replication') -- Without the right to it, no replica is waited for.
  local _, replicas = string.gsub(type(replication) == 'string' and replication or '', 'state=online', '')
  return { 'ok', whole(number), whole(replicas) }
end
