// Decides with 64 requests in flight, and prints the bytes a decision that outlive a collection of young objects.
//
//   started by short-lived.spec.ts with --expose-gc: short-lived-load.mjs <port> [cluster]
import { Session } from 'node:inspector/promises';
import { Cluster, Redis } from 'ioredis';
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';

const SUBJECTS = Array.from({ length: 10_000 }, (_, index) => `subject-${index}`);
const RULE = { name: 'calls', window: '24d', limit: 100_000, algorithm: 'gcra' };
const IN_FLIGHT = 64;

const [port, isCluster] = process.argv.slice(2);
const redis = isCluster ? new Cluster([{ host: '127.0.0.1', port: Number(port) }]) : new Redis(Number(port));
const DECISIONS = isCluster ? 50_000 : 100_000;
const store = new RedisStore({ redis, timeout: 10_000 });
const limiter = new RateLimiter({ store });

async function decide(decisions) {
  let asked = 0;
  const lane = async () => {
    while (asked < decisions) await limiter.consume(RULE, SUBJECTS[asked++ % SUBJECTS.length]);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

await decide(4 * DECISIONS); // V8 chooses where to allocate after some collections of compiled code.
const session = new Session();
session.connect();
globalThis.gc({ type: 'minor' });
await session.post('HeapProfiler.startSampling', {
  samplingInterval: 4096,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: false,
});
await decide(DECISIONS);
globalThis.gc({ type: 'minor' });
const { profile } = await session.post('HeapProfiler.stopSampling');
const sizeOf = ({ selfSize, children }) => children.reduce((sum, child) => sum + sizeOf(child), selfSize);
console.log(JSON.stringify({ bytes: sizeOf(profile.head) / DECISIONS }));
await limiter.close();
await store.close();
redis.disconnect();
