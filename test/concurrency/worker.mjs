// One of several processes that ask for permits at once. For each task `{ url, prefix, rules, hits, inFlight, holds }`
// it says 'ready' once Redis answers, begins at 'go', and then tells how many of its hits were admitted; or,
// if it holds permits, the most holders that were inside at once, of all processes, as Redis counted them.
import { on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RateLimiter, RedisStore } from '../../dist/esm/index.js';

const messages = on(process, 'message');
const next = async () => (await messages.next()).value[0];

for (;;) await run(await next());

async function run({ url, prefix, rules, hits, inFlight, holds }) {
  const store = new RedisStore({ redis: url, timeout: 10_000 });
  const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
  while ((await limiter.peek(rules, 'everyone')).source !== 'redis') await sleep(10);
  process.send('ready');
  await next();

  let begun = 0;
  let admitted = 0;
  const askOneByOne = async () => {
    while (begun < hits) {
      begun++;
      const { allowed, source } = await limiter.consume(rules, 'everyone');
      if (source !== 'redis') throw new Error('Redis did not answer');
      if (allowed) admitted++;
    }
  };
  const redis = new Redis(url);
  const inside = `${prefix}inside`;
  let most = 0;
  const enterOneByOne = async () => {
    while (begun < hits) {
      begun++;
      let permit;
      do permit = await limiter.enter(rules[0], 'everyone');
      while (!permit.allowed);
      most = Math.max(most, await redis.incr(inside));
      await redis.decr(inside);
      await permit.release();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, holds ? enterOneByOne : askOneByOne));
  process.send(holds ? most : admitted);
  limiter.close();
  redis.disconnect();
  await store.close();
}
