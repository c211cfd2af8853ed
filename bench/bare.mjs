// A GCRA in Redis without any additional feature: the lowest cost of a decision with this client, for comparison.
const INTRO = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local step, burst = tonumber(ARGV[1]), tonumber(ARGV[2])

-- Returns: 0 if it is let in, else for how many microseconds it has to wait.
local function decide(key)
  local arrival = math.max(now, tonumber(redis.call('GET', key) or now)) + step
  local wait = arrival - now - burst
  if wait > 0 then return wait end
  redis.call('SET', key, arrival, 'PX', math.ceil((arrival - now) / 1000))
  return 0
end
`;

const ONE = `${INTRO}return decide(KEYS[1])`;

const MANY = `${INTRO}
local reply = {}
for index, key in ipairs(KEYS) do reply[index] = decide(key) end
return reply`;

/** The arguments of both scripts after the keys, in microseconds. */
const bucketOf = ({ limit, windowMs }) => [(windowMs * 1000) / limit, windowMs * 1000];

/** Returns a function that decides each hit with a separate call, and returns the wait of a subject. */
export function askOneByOne(redis, rule) {
  const bucket = bucketOf(rule);
  redis.defineCommand('bareOne', { numberOfKeys: 1, lua: ONE });
  return (subject) => redis.bareOne(`bare:${subject}`, ...bucket);
}

/**
 * Returns a function that decides all hits of a turn of the event loop with one call, and returns the wait of a
 * subject.
 */
export function askByTurns(redis, rule) {
  const bucket = bucketOf(rule);
  redis.defineCommand('bareMany', { lua: MANY });
  let keys = [];
  let waiting = [];
  const send = () => {
    const answered = waiting;
    const reply = redis.bareMany(keys.length, ...keys, ...bucket);
    [keys, waiting] = [[], []];
    reply.then(
      (waits) => answered.forEach(({ resolve }, index) => resolve(waits[index])),
      (error) => answered.forEach(({ reject }) => reject(error)),
    );
  };
  return (subject) =>
    new Promise((resolve, reject) => {
      if (keys.push(`bare:${subject}`) === 1) setImmediate(send);
      waiting.push({ resolve, reject });
    });
}
