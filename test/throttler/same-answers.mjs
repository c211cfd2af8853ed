// Sends the same random requests to throttler's own storage and to ours, on a clock that only this program advances.
// Prints the number of requests, and how many were blocked; fails at the first that is answered differently.
//
// A program of its own, since Jest cannot load a CommonJS package that requires ES modules.
import { strict as assert } from 'node:assert';
import { mock } from 'node:test';
import { ThrottlerStorageService } from '@nestjs/throttler';
import fc from 'fast-check';
import { MemoryStore } from '../../dist/esm/index.js';
import { RateLimitThrottlerStorage } from '../../dist/esm/throttler.js';

mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.UTC(2030, 0, 1, 12) });
const own = new ThrottlerStorageService();

const throttlers = fc.record({
  ttl: fc.integer({ min: 1, max: 12 }).map((count) => count * 1000),
  limit: fc.integer({ min: 1, max: 4 }),
  block: fc.integer({ min: 0, max: 20 }).map((count) => count * 800),
});
const gap = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9000 }));
const gaps = fc.array(gap, { minLength: 40, maxLength: 80 });

let keys = 0;
let requests = 0;
let blocked = 0;

await fc.assert(
  fc.asyncProperty(throttlers, gaps, async (throttler, times) => {
    const ours = new RateLimitThrottlerStorage({ store: new MemoryStore({ clock: Date.now }) });
    await compare(ours, throttler, times);
  }),
  { numRuns: 200, seed: 20_240_229 },
);
console.log(JSON.stringify({ requests, blocked }));
process.exit();

/** Compares what throttler's guard reads. */
async function compare(ours, { ttl, limit, block }, times) {
  const key = `${keys++}`;
  let wasBlocked = false;
  for (const gap of times) {
    mock.timers.tick(gap);
    const expected = await own.increment(key, ttl, limit, block, 'default');
    const actual = await ours.increment(key, ttl, limit, block, 'default');
    requests += 1;
    assert.equal(actual.isBlocked, expected.isBlocked);
    if (actual.isBlocked) {
      blocked += 1;
      assert.equal(actual.timeToBlockExpire, expected.timeToBlockExpire);
      assert.equal(actual.totalHits, limit + 1);
    } else {
      assert.equal(actual.totalHits, expected.totalHits);
      // Throttler starts a new window for a denied request, and ours for an allowed one only.
      if (!wasBlocked) assert.equal(actual.timeToExpire, expected.timeToExpire);
    }
    wasBlocked ||= actual.isBlocked;
  }
}
