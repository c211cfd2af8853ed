// One of several processes with a limit of 100 on one subject. Its parent sends `{ command }`; each is answered.
import { RateLimiter, RedisStore } from '../../dist/esm/index.js';

const { url, prefix, instances } = JSON.parse(process.argv[2]);
const rule = { name: 'shared', limit: 100, window: '1d', algorithm: 'sliding-window-log' };
const store = new RedisStore({ redis: url, timeout: 200 });
const limiter = new RateLimiter({ store, prefix, ...(instances && { instances }) });
const allowed = { redis: 0, fallback: 0 };
const events = new Set();
limiter.events.on('decision', ({ decision }) => events.add(decision.source));

const commands = {
  known: () => limiter.instanceCount,
  /** Asks so many times, twenty at once. */
  async ask(times) {
    for (let asked = 0; asked < times; asked += 20) {
      const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume(rule, 'ann')));
      for (const decision of decisions) if (decision.allowed) allowed[decision.source] += 1;
    }
    return { ...allowed, events: [...events] };
  },
  async close() {
    await limiter.close();
    await store.close();
    setImmediate(() => process.disconnect());
  },
};

await store.ready();
process.on('message', async ({ command, value }) => process.send({ answer: await commands[command](value) }));
process.send('ready');
