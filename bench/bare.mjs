// The bare programs: what a decision costs in Redis with nothing around the algorithm. They are as exact as this
// library, return the same four integers, and run in the same kind of call.
import { readFileSync } from 'node:fs';

/** The bare programs, by the name of their algorithm. */
export const BARE = { gcra: 'gcra', 'sliding-window-log': 'log' };

/** One decision, and one for each key. The time is the server's, or a third argument. */
const MAINS = `
local function now_of(argv)
  if argv[3] then return tonumber(argv[3]) end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function one(keys, argv)
  return { decide(keys[1], tonumber(argv[1]), tonumber(argv[2]), now_of(argv)) }
end

local function many(keys, argv)
  local limit, window, now, reply = tonumber(argv[1]), tonumber(argv[2]), now_of(argv), {}
  for index = 1, #keys do
    local at = 4 * index - 3
    reply[at], reply[at + 1], reply[at + 2], reply[at + 3] = decide(keys[index], limit, window, now)
  end
  return reply
end
`;

function programOf(algorithm) {
  return readFileSync(new URL(`bare/${BARE[algorithm]}.lua`, import.meta.url), 'utf8') + MAINS;
}

/**
 * Loads a bare program.
 *
 * @param {object} redis a client of ioredis
 * @param {{ algorithm?: string, functions?: boolean }} [options] by default gcra, as Redis functions; otherwise scripts
 * @returns functions that call it with a list of keys and the arguments: `one`, `many`
 */
export async function openBare(redis, { algorithm = 'gcra', functions = true } = {}) {
  const program = programOf(algorithm);
  const name = `bare_${BARE[algorithm]}`;
  if (!functions) {
    for (const main of ['one', 'many'])
      redis.defineCommand(`${name}_${main}`, { lua: `${program}\nreturn ${main}(KEYS, ARGV)` });
    return {
      one: (keys, ...args) => redis[`${name}_one`](1, keys[0], ...args),
      many: (keys, ...args) => redis[`${name}_many`](keys.length, ...keys, ...args),
    };
  }
  const registered = ['one', 'many'].map((main) => `redis.register_function('${name}_${main}', ${main})`);
  await redis.call('FUNCTION', 'LOAD', 'REPLACE', `#!lua name=${name}\n${program}\n${registered.join('\n')}`);
  return {
    one: (keys, ...args) => redis.fcall(`${name}_one`, 1, keys[0], ...args),
    many: (keys, ...args) => redis.fcall(`${name}_many`, keys.length, ...keys, ...args),
  };
}

/** Returns a function that decides each request with a separate call. */
export async function askOneByOne(redis, { limit, windowMs, ...options }) {
  const { one } = await openBare(redis, options);
  const prefix = `bare:${options.algorithm ?? 'gcra'}:`;
  return (subject) => one([prefix + subject], limit, windowMs * 1000);
}

/** Returns a function that decides all requests of a turn of the event loop with one call. */
export async function askByTurns(redis, { limit, windowMs, ...options }) {
  const { many } = await openBare(redis, options);
  const prefix = `bare:${options.algorithm ?? 'gcra'}:`;
  let keys = [];
  let waiting = [];
  const send = () => {
    const answered = waiting;
    const reply = many(keys, limit, windowMs * 1000);
    [keys, waiting] = [[], []];
    reply.then(
      (results) => answered.forEach(({ resolve }, index) => resolve(results.slice(4 * index, 4 * index + 4))),
      (error) => answered.forEach(({ reject }) => reject(error)),
    );
  };
  return (subject) =>
    new Promise((resolve, reject) => {
      if (keys.push(prefix + subject) === 1) setImmediate(send);
      waiting.push({ resolve, reject });
    });
}
