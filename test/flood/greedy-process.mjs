// A process that requests ten times its limit until it is killed. It goes from subject to subject, requests permits
// of each as often as the task `{ url, prefix, rules, lease, subjects, begin, burst }` states, at once and while it
// holds a permit, and reports to its parent how many it got.
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';

const { url, prefix, rules, lease, subjects, begin, burst } = JSON.parse(process.argv[2]);
const store = new RedisStore({ redis: url, timeout: 10_000 });
const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });

process.once('disconnect', () => process.exit(1)); // The parent has ended.
let next = begin;
await Promise.all(Array.from({ length: 4 }, askForEver));

async function askForEver() {
  for (;;) {
    const subject = next++ % subjects;
    const rule = subject % rules.length;
    await limiter.hold(lease, String(subject)); // Never released, because the process is killed.
    const sentAt = Date.now();
    const asked = Array.from({ length: burst }, () => limiter.consume(rules[rule], String(subject)));
    const decisions = await Promise.all(asked);
    const answeredAt = Date.now();
    if (decisions.some(({ source }) => source === 'fallback')) throw new Error('Redis did not answer');
    const admitted = decisions.filter(({ allowed }) => allowed).length;
    await tell({ subject, rule, sentAt, answeredAt, admitted, asked: burst });
  }
}

function tell(burst) {
  return new Promise((resolve) => process.send(burst, resolve));
}
