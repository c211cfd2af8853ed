import { afterAll, beforeAll, describe } from '@jest/globals';
import { MemoryStore, type Decision, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { SubjectValue } from '../../lib/rules/subject.js';
import type { BaseStore } from '../../lib/store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { STORES, VirtualTime } from '../support/virtual-store.js';

/** A limiter in virtual time, as an application would have it. */
export interface Scenario {
  readonly limiter: RateLimiter;
  /** Sets the time to a number of milliseconds after a full minute. */
  goTo(at: number): void;
  /** Sends a number of requests at once. Returns how many were allowed. */
  admittedOf(times: number, rule: Rule, subject?: SubjectValue): Promise<number>;
}

/** Describes the same scenario on Redis and in memory. */
export function scenario(title: string, tell: (fresh: () => Scenario) => void): void {
  describe.each(STORES)(`${title}, on %s`, (kind) => {
    const time = new VirtualTime();
    const start = time.now;
    let store: BaseStore;

    beforeAll(async () => {
      store =
        kind === 'memory'
          ? new MemoryStore({ clock: time.clock })
          : await openRedisStore({ clock: time.clock });
    });

    afterAll(() => store.close());

    tell(() => {
      time.now = start;
      const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
      const admittedOf = async (times: number, rule: Rule, subject: SubjectValue = '203.0.113.7') => {
        const asked = Array.from({ length: times }, () => limiter.consume(rule, subject));
        return countAdmitted(await Promise.all(asked));
      };
      return { limiter, admittedOf, goTo: (at) => void (time.now = start + at) };
    });
  });
}

function countAdmitted(decisions: readonly Decision[]): number {
  for (const { source } of decisions) if (source === 'fallback') throw new Error('The store did not answer');
  return decisions.filter(({ allowed }) => allowed).length;
}
