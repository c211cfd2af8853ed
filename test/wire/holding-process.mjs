// A process that holds many permits and renews them. It sends 'held' when it has them all, and then how many it has
// renewed so far whenever it gets a message.
//
//   node holding-process.mjs '{ "url", "prefix", "permits", "lease" }'
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';

const { url, prefix, permits, lease } = JSON.parse(process.argv[2]);
const store = new RedisStore({ redis: url, timeout: 10_000, connectTimeout: 30_000 });
const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
const counts = { renewed: 0, lost: 0 };
const adjust = store.adjust.bind(store);
store.adjust = async (adjustments, options) => {
  const adjusted = await adjust(adjustments, options);
  counts.renewed += adjusted.filter((isRenewed) => isRenewed).length;
  return adjusted;
};

const rule = { name: 'jobs', algorithm: 'concurrency', limit: 1, lease };
const held = await Promise.all(Array.from({ length: permits }, (_, nth) => limiter.hold(rule, String(nth))));
for (const { signal } of held) signal.addEventListener('abort', () => (counts.lost += 1));
process.on('message', () => process.send(counts));
process.send('held');
