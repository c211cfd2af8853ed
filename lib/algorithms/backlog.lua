-- A backlog: a state of one instant, at which all permits are available again, and the rate at which they were charged.
-- See docs/adr/0029-changed-rates.md.
--
-- KEYS  a string, `instant part:window/limit until`:
--       instant, part  microseconds since the epoch, and a fraction in units of 1/limit microsecond (without ` part`: 0)
--       window/limit   the rate (microseconds, permits; without `/limit`: 1 permit; without both: the rule's own rate)
--       until          until when this rate also applies to a rule with a faster one (microseconds since the epoch;
--                      without ` until`: until the instant)
--       Or an integer, `-<pace><since>`: the time per permit in at most four digits, and the instant in fifteen digits,
--       see docs/adr/0032-a-backlog-is-an-integer.md.
--
-- @needs rate

-- The instant that is 0 in the integer form (microseconds since the epoch), and the number of digits of an instant.
local EPOCH, DIGITS = 1600000000000000, 15
local SHORT = '-%d%015' .. string.sub(INTEGER, 2)

-- The last time per permit that was read or written (microseconds), and its digits: numbers below 1,000 encode
-- themselves; each 900 numbers above encode three digits followed by one more zero.
local pace, digits = 0, 0

-- Returns: the time per permit that digits encode (microseconds).
local function pace_of(encoded)
  local zeros = encoded < 1000 and 0 or math.floor((encoded - 100) / 900)
  return (encoded - zeros * 900) * 10 ^ zeros
end

-- Returns: a span at one rate, converted to the span of as many permits at another (microseconds), rounded up.
local function convert_backlog(span, part, limit, window, to_limit, to_window)
  local ratio = to_window / to_limit / (window / limit)
  return math.min(LONGEST, math.ceil((span + part / limit) * ratio))
end

-- Returns: `ahead` with the part after the slower rate's time converted to the rule's own rate (microseconds, part).
local function after_slow(ahead, part, limit, window, slow_for, own_limit, own_window)
  if ahead < slow_for then return ahead, part end
  return slow_for + convert_backlog(ahead - slow_for, part, limit, window, own_limit, own_window), 0
end

-- Returns: the same as `read_backlog`, for a backlog at another rate.
local function read_at_rate(now, ahead, part, rate_limit, rate_window, s_until, limit, window)
  if rate_window / rate_limit <= window / limit then
    return convert_backlog(ahead, part, rate_limit, rate_window, limit, window), 0, limit, window, 0
  end
  local ends_at = tonumber(s_until) or now + ahead + (part > 0 and 1 or 0)
  local slow_for = ends_at - now
  if slow_for > 0 then return ahead, part, rate_limit, rate_window, slow_for end
  ahead, part = after_slow(ahead, part, rate_limit, rate_window, slow_for, limit, window)
  if ahead < 0 then return 0, 0, limit, window, 0 end
  return ahead, part, limit, window, 0
end

-- Returns: the same as `read_backlog`, for a backlog that is stored as text.
local function read_backlog_text(stored, now, limit, window)
  local s_instant, s_part, s_window, s_limit, s_until =
    string.match(stored, '^(%d+) ?(%d*):?(%d*)/?(%d*) ?(%d*)$')
  local instant, part = tonumber(s_instant), tonumber(s_part) or 0
  if not instant or instant < now then return 0, 0, limit, window, 0 end
  local ahead, rate_window, rate_limit = instant - now, tonumber(s_window), tonumber(s_limit) or 1
  if not rate_window then return ahead, math.min(part, limit - 1), limit, window, 0 end
  local is_same = rate_limit == limit and rate_window == window
  if is_same or (rate_limit == 1 and rate_window * limit == window) then return ahead, part, limit, window, 0 end
  return read_at_rate(now, ahead, part, rate_limit, rate_window, s_until, limit, window)
end

-- Returns: the time until the queue is empty (microseconds).
local function backlog_length(...)
  local ahead, part = after_slow(...)
  return part > 0 and ahead + 1 or ahead
end

-- Returns: the time until the queue is no longer than `own_most` (microseconds), if the slower rate no longer applies
-- then.
local function backlog_wait(ahead, part, limit, window, slow_for, own_limit, own_window, own_most, own_most_part)
  ahead, part = after_slow(ahead, part, limit, window, slow_for, own_limit, own_window)
  local own_wait = part > own_most_part and ahead - own_most + 1 or ahead - own_most
  return math.max(slow_for, own_wait)
end

-- Returns: the time until the instant (microseconds, part), 0 if it has passed; the rate at which permits become
-- available (limit, window): the rule's own or a slower one; and how long the slower rate still applies, or 0.
local function read_backlog(key, now, limit, window)
  local stored = get(key)
  if not stored then return 0, 0, limit, window, 0 end
  if string.byte(stored) ~= 45 then return read_backlog_text(stored, now, limit, window) end -- '-'
  local ahead = EPOCH - now + (tonumber(string.sub(stored, -DIGITS)) or 0)
  if ahead < 0 then return 0, 0, limit, window, 0 end
  digits = tonumber(string.sub(stored, 2, -DIGITS - 1)) or 1
  pace = pace_of(digits)
  if pace * limit == window then return ahead, 0, limit, window, 0 end
  return read_at_rate(now, ahead, 0, 1, pace, nil, limit, window)
end

-- Returns: the state for a backlog, and when it expires.
local function write_backlog(now, ahead, part, limit, window, slow_for)
  local instant, time = now + ahead, window / limit
  local is_whole = window % limit == 0
  if is_whole and slow_for == 0 then
    if time ~= pace then
      local zeros, rest = 0, time
      while rest >= 1000 and rest % 10 == 0 do rest, zeros = rest / 10, zeros + 1 end
      pace, digits = time, rest < 1000 and zeros < 10 and zeros * 900 + rest or nil
    end
    local since = instant - EPOCH
    if digits and since >= 0 and since < 1e15 then return string.format(SHORT, digits, since), ahead end
  end

  local state = string.format(INTEGER, instant)
  if part > 0 then state = state .. ' ' .. string.format(INTEGER, part) end
  state = state .. ':' .. string.format(INTEGER, is_whole and time or window)
  if not is_whole then state = state .. '/' .. string.format(INTEGER, limit) end
  if slow_for > 0 then state = state .. ' ' .. string.format(INTEGER, now + slow_for) end
  return state, part > 0 and ahead + 1 or ahead
end
