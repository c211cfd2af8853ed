// Measures how much memory of Redis a subject takes: a key of every algorithm after one hit, and the sliding log while it fills, compared with a sorted set with the same hits. The key's name is included (MEMORY USAGE).
//
//   node bench/bytes.mjs [--quick] [--json]
import { RateLimiter } from '../dist/esm/limiter.js';
import { RedisStore } from '../dist/esm/redis.js';
import { count, threeDigits } from './columns.mjs';
import { flexible, nestLab, rateLimitRedis } from './contestants.mjs';
import { startMeasuredServer } from './measured-server.mjs';
import { asked, machine, progress, report } from './report.mjs';
import { hit, RULES } from './rules.mjs';

const SUBJECT = '203.0.113.7';
const SIZES = asked.quick ? [100, 1_000] : [100, 1_000, 100_000];
const CHUNK = 1_000;

const PEERS = {
  'rate-limiter-flexible': flexible(),
  'rate-limit-redis': rateLimitRedis,
  '@nest-lab/throttler-storage-redis': nestLab,
};

const server = await startMeasuredServer();
const redis = server.connect();
const store = new RedisStore({ redis, timeout: 60_000 });
const limiter = new RateLimiter({ store, onStoreError: 'deny' });

/** The heartbeats of the processes: one key of the limiter, whatever the number of subjects. */
const HEARTBEATS = 'rl:{instances}';

/** Returns the bytes of all keys of subjects that a function creates in an empty Redis. */
async function bytesAfter(fill) {
  await redis.flushall();
  await fill();
  const keys = (await redis.keys('*')).filter((key) => key !== HEARTBEATS);
  const bytes = await Promise.all(keys.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
  return bytes.reduce((sum, each) => sum + each, 0);
}

/** Calls a function a number of times, with limited concurrency. */
async function inChunks(number, act) {
  for (let done = 0; done < number; done += CHUNK) {
    const size = Math.min(CHUNK, number - done);
    await Promise.all(Array.from({ length: size }, (_, index) => act(done + index)));
  }
}

/** Sends one hit to another limiter. */
async function hitPeer(open) {
  const contestant = await open({ server, limit: 100 });
  await contestant.ask(SUBJECT);
  await contestant.close();
}

const fillLog = (entries) => {
  const rule = { name: 'login', limit: entries, window: '1d', algorithm: 'sliding-window-log' };
  return inChunks(entries, async () => {
    if (!(await limiter.consume(rule, SUBJECT)).allowed) throw new Error('The log was full too early');
  });
};

/** The usual sorted set: the instant is the score, and also part of the member, which has to be unique. */
const fillSortedSet = (entries) => {
  const start = Date.now() * 1000;
  return inChunks(entries, (index) =>
    redis.zadd(`rl:${SUBJECT}:login`, start + index, String(start + index)),
  );
};

const rows = [];
async function measure(key, entries, fill) {
  progress(`${key}, ${entries}`);
  const bytes = await bytesAfter(fill);
  rows.push({ key, entries, bytes, bytesAnEntry: bytes / entries });
}

for (const described of RULES) await measure(described.name, 1, () => hit(limiter, described, SUBJECT));
for (const [name, open] of Object.entries(PEERS)) await measure(name, 1, () => hitPeer(open));
for (const entries of SIZES) await measure('sliding-window-log', entries, () => fillLog(entries));
for (const entries of SIZES) await measure('a sorted set', entries, () => fillSortedSet(entries));

await limiter.close();
await store.close();
redis.disconnect();
await server.stop();

report(machine({ redis: server.version, subject: SUBJECT }), rows, {
  'keys of': (row) => row.key,
  requests: (row) => count(row.entries),
  bytes: (row) => count(row.bytes),
  'bytes per request': (row) => threeDigits(row.bytesAnEntry),
});
