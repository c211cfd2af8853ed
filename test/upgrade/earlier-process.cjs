// A process of an earlier build: consumes permits when asked, and reports what was allowed.
const [, , build, url, prefix] = process.argv;
const { RateLimiter } = require(`${build}/cjs/index.js`);
const { RedisStore } = require(`${build}/cjs/redis.js`);

const store = new RedisStore({ redis: url });
const limiter = new RateLimiter({ store, prefix });
limiter.events.on('storeError', ({ error }) => process.send({ error: error.message }));

process.on('message', async (rule) => {
  if (rule === null) {
    await limiter.close();
    await store.close();
    process.disconnect();
    return;
  }
  const isHeld = rule.algorithm === 'concurrency';
  const { allowed } = isHeld ? await limiter.hold(rule, 'ann') : await limiter.consume(rule, 'ann');
  process.send({ allowed });
});
limiter.ready().then(() => process.send({ isReady: true }));
