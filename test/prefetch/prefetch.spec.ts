import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { examplesFor, prefetching } from '../support/examples.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { untilPrefetching } from '../support/until-prefetching.js';
import { VirtualTime } from '../support/virtual-store.js';

const prefetch = { permits: 5, ttl: '1s' } as const;

/** Every algorithm that supports prefetch. */
const RULES: readonly Rule[] = prefetching(
  [
    ...examplesFor({ limit: 12, windowMs: 2000 }).map(({ rule }) => rule as Rule),
    { algorithm: 'gcra', limit: 7, window: '3s', burst: 20 },
    { algorithm: 'token-bucket', limit: 12, window: '2s', burst: 6 },
    { algorithm: 'token-bucket', limit: 7, window: '3s', burst: 20, initial: 10 },
  ],
  prefetch,
);

const named = RULES.map((rule) => [JSON.stringify(rule), rule] as const);

let time: VirtualTime;
let prefix: string;
let stores: RedisStore[];
let processes: RateLimiter[];

/** Processes that share a Redis, with one clock. */
async function open(count: number): Promise<void> {
  time = new VirtualTime();
  prefix = uniquePrefix();
  stores = await Promise.all(Array.from({ length: count }, () => openRedisStore({ clock: time.clock })));
  processes = stores.map((store) => new RateLimiter({ store, prefix, onStoreError: 'deny' }));
  await Promise.all(processes.map((each) => untilPrefetching(each)));
}

afterEach(async () => {
  for (const limiter of processes) await limiter.close();
  for (const store of stores) await store.close();
});

describe('prefetched permits', () => {
  beforeEach(() => open(3));

  it.each(named)(
    'prefetched permits never allow more than one store that decides every request: %s',
    async (_name, rule) => {
      const hit = fc.record({
        process: fc.nat(2),
        cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 7 })),
        gap: fc.oneof(fc.constant(0), fc.nat(90), fc.nat(700)),
        together: fc.integer({ min: 1, max: 3 }),
      });
      let run = 0;
      const property = fc.asyncProperty(fc.array(hit, { minLength: 5, maxLength: 60 }), async (hits) => {
        const subject = `subject ${(run += 1)}`;
        const reference = new RateLimiter({ store: new MemoryStore({ clock: time.clock }) });
        for (const { process, cost, gap, together } of hits) {
          time.advance(gap);
          const asked = Array.from({ length: together }, () =>
            processes[process]!.consume(rule, subject, { cost }),
          );
          for (const { allowed } of await Promise.all(asked)) {
            if (!allowed) continue;
            const { allowed: alone } = await reference.consume(rule, subject, { cost });
            expect(alone).toBe(true);
          }
        }
      });
      await fc.assert(property, { seed: 20_240_229, numRuns: 60, endOnFailure: true });
    },
  );

  it.each(named)(
    'a single process with prefetch gets the limit to the last permit: %s',
    async (_name, rule) => {
      const [limiter] = processes;
      const { remaining } = await limiter!.peek(rule, 'ann', { cost: 0 });
      const asked = Array.from({ length: remaining + 5 }, () => limiter!.consume(rule, 'ann'));
      const admitted = (await Promise.all(asked)).filter(({ allowed }) => allowed);
      expect(admitted).toHaveLength(remaining);
    },
  );
});
