// Compares this build with another one, such as that of an earlier commit, in alternating rounds.
//
//   node bench/builds.mjs --before=DIRECTORY [--quick] [--json]
//
// The directory is a checkout of the other commit after `npm run build`.
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FIGURES, times } from './columns.mjs';
import { ALL_LET_IN, contest, timesOf } from './contest.mjs';
import { contestOnRedis } from './contest-on-redis.mjs';
import { rulesOf } from './contestants.mjs';
import { asked, machine, report } from './report.mjs';
import { subjectsOf } from './subjects.mjs';

const TIMEOUT_MS = 10_000;
const KEYS = asked.quick ? 1_000 : 10_000;
const TIMES = asked.quick ? { rounds: 1, ms: 100 } : { rounds: 8, ms: 400 };
const BEFORE = process.argv.find((argument) => argument.startsWith('--before='))?.slice('--before='.length);
if (!BEFORE) throw new Error('name the checkout of the other build: --before=DIRECTORY');
const BUILDS = { before: resolve(BEFORE), after: join(import.meta.dirname, '..') };

const DENIED = { limit: 1, allowed: false, passes: 3 };
const ON_REDIS = {
  'Redis, 1 in flight': { lanes: 1 },
  'Redis, 64 in flight': { lanes: 64 },
  'Redis, 512 in flight': { lanes: 512 },
  'Redis, three rules, 64 in flight': { lanes: 64, rules: 3 },
  'Redis, denied, 64 in flight': { lanes: 64, ...DENIED },
};
const IN_MEMORY = { 'memory, allowed': { lanes: 1 }, 'memory, denied': { lanes: 1, ...DENIED } };

/** Returns a function that opens the limiter of a build. */
function openOf(directory, inMemory, rules = 1) {
  return async ({ server, limit }) => {
    const load = (entry) => import(pathToFileURL(join(directory, 'dist/esm', entry)));
    const entry = await load('limiter.js').catch(() => load('index.js')); // where older builds have it
    const { MemoryStore, RateLimiter } = entry;
    const { RedisStore } = await load('redis.js').catch(() => load('index.js'));
    const client = inMemory ? undefined : server.connect();
    const onRedis = { redis: client, timeout: TIMEOUT_MS, connectTimeout: TIMEOUT_MS };
    const store = inMemory ? new MemoryStore() : new RedisStore(onRedis);
    const limiter = new RateLimiter({ store, onStoreError: 'deny' });
    const all = rulesOf(rules, limit);
    return {
      ask: (subject) => limiter.consume(rules === 1 ? all[0] : all, subject),
      isAllowed: ({ allowed }) => allowed,
      async close() {
        await limiter.close();
        await store.close();
        client?.disconnect();
      },
    };
  };
}

function entriesOf(settings, inMemory) {
  return Object.entries(settings).flatMap(([what, own]) =>
    Object.entries(BUILDS).map(([build, directory]) => ({
      row: { what, build },
      ...own,
      open: openOf(directory, inMemory, own.rules),
    })),
  );
}

const setting = { ...ALL_LET_IN, ...TIMES, subjects: subjectsOf(KEYS), every: 61 };
const memory = await contest(entriesOf(IN_MEMORY, true), { ...setting, limit: 10_000_000 });
const { rows: onRedis, redis } = await contestOnRedis(entriesOf(ON_REDIS, false), setting);
const rows = [...memory, ...onRedis];
const lines = rows
  .filter(({ build }) => build === 'after')
  .map((after) => {
    const before = rows.find(({ what, build }) => build === 'before' && what === after.what);
    const ratio = (figure) => timesOf(after, before, figure);
    const server = after.serverMicros === undefined ? undefined : ratio('serverMicros');
    return { ...after, before, client: ratio('clientMicros'), server, throughput: ratio('perSecond') };
  });

report(
  machine({ redis, subjects: KEYS, rounds: TIMES.rounds }),
  rows,
  {
    request: (line) => line.what,
    'client µs before': (line) => FIGURES['client µs'](line.before),
    'client µs after': (line) => FIGURES['client µs'](line),
    ratio: (line) => times(line.client),
    'server µs before': (line) => FIGURES['server µs'](line.before),
    'server µs after': (line) => FIGURES['server µs'](line),
    'server ratio': (line) => times(line.server),
    'decisions/s, to before': (line) => times(line.throughput),
  },
  lines,
);
