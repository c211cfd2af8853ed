// Closes its limiter and its store while a hundred hits are in flight, and prints the source of their decisions. Nothing stops the process: it has to exit when no handles are left.
//
//   node closing-store.mjs REDIS_URL PREFIX
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';

const [redis, prefix] = process.argv.slice(2);
const store = new RedisStore({ redis, timeout: 10_000 });
const limiter = new RateLimiter({ store, prefix });
const rule = { algorithm: 'gcra', limit: 10, window: '1m' };
await limiter.consume(rule, 'ann');
const asked = Array.from({ length: 100 }, () => limiter.consume(rule, 'ann'));
await limiter.close();
await store.close();
console.log(JSON.stringify((await Promise.all(asked)).map(({ source }) => source)));
