// One of several processes that request permits at the same time. For each task `{ does, url, prefix, rules, … }` it
// sends 'ready' when Redis has replied, starts at 'go', and then sends the result: see worker-tasks.mjs. A task with
// `now` uses that clock, which a message with a number sets.
import { on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';
import * as tasks from './worker-tasks.mjs';

let time;
const messages = on(process, 'message');
process.on('message', (message) => {
  if (typeof message === 'number') time = message;
});

for (;;) await run(await next());

async function next() {
  for (;;) {
    const [message] = (await messages.next()).value;
    if (typeof message !== 'number') return message;
  }
}

async function run({ does, url, prefix, now, ...task }) {
  time = now;
  const clock = now === undefined ? {} : { clock: () => time };
  const store = new RedisStore({ redis: url, timeout: 10_000, ...clock });
  const open = (each = store) => new RateLimiter({ store: each, prefix, onStoreError: 'deny' });
  const limiter = open();
  while ((await limiter.peek(task.rules, 'everyone')).source !== 'redis') await sleep(10);
  process.send('ready');
  await next();
  const tell = (news) => process.send(news);
  process.send(await tasks[does](task, { url, prefix, store, limiter, open, tell, next }));
  await limiter.close();
  await store.close();
}
