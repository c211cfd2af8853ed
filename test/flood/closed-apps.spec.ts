import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runWith } from '../packaging/run-command.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { PATIENCE_MS, scaled, tell } from './scale.js';

/** Applications whose growth is not measured: they fill the caches of the process. */
const FIRST = scaled(50, 30);
const ALL = scaled(200, 110);
/** What a closed application may keep beyond one without limits. */
const MOST_KB = 5;

/** Machine code is compiled and discarded at any time, and is not memory of an application. */
const WITHOUT_COMPILERS = ['--jitless', '--no-flush-bytecode'];

const program = fileURLToPath(new URL('closed-apps.mjs', import.meta.url));

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

/** Returns the kB that each closed application keeps. */
async function keptBy(kind: string, framework: string): Promise<number> {
  const variables = { KIND: kind, FRAMEWORK: framework, REDIS_URL: redis.url };
  const counts = [FIRST, ALL].map(String);
  const flags = ['--expose-gc', ...WITHOUT_COMPILERS];
  return Number(await runWith(variables, '.', process.execPath, ...flags, program, ...counts));
}

/** Measures again what seems too much, at most three times: what is kept is there each time, and what a busy machine adds is not. */
async function leastKeptBy(kind: string, framework: string, ofNest: number): Promise<number> {
  let least = Infinity;
  for (let nth = 0; nth < 3 && least >= MOST_KB; nth += 1) {
    least = Math.min(least, (await keptBy(kind, framework)) - ofNest);
  }
  return least;
}

/** What a closed application of plain Nest keeps, by its framework. */
const plain = new Map<string, number>();

it.each([
  ['express', 'limits in memory', 'memory'],
  ['express', 'a Redis that is down', 'down'],
  ['express', 'the operations page', 'page'],
  ['fastify', 'limits in Redis', 'redis'],
  ['fastify', 'the operations page', 'page'],
])(
  'a test suite that creates and closes hundreds of applications on %s with %s does not fill the memory',
  async (framework, _what, kind) => {
    if (!plain.has(framework)) plain.set(framework, await keptBy('plain', framework));
    const kept = await leastKeptBy(kind, framework, plain.get(framework)!);
    tell(`kB that each closed application keeps, ${framework}, ${kind}`, [kept]);
    expect(kept).toBeLessThan(MOST_KB);
  },
  PATIENCE_MS,
);

it(
  'limiters that are created and closed on one store do not fill the memory',
  async () => {
    expect(await leastKeptBy('limiter', 'none', 0)).toBeLessThan(MOST_KB);
  },
  PATIENCE_MS,
);
