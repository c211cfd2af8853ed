import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { Clock } from '../../lib/contracts/clock.js';
import type { SubjectValue } from '../../lib/rules/subject.js';
import type { BaseStore } from '../../lib/store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { expectTimeline, type DecideOptions } from '../support/timeline.js';
import { VirtualTime } from '../support/virtual-store.js';

/** Creates a store with this clock. */
export type CreateStore = (clock: Clock) => BaseStore | Promise<BaseStore>;

/** A limiter on the tested store, in virtual time, without any counters. */
export interface Bench {
  readonly limiter: RateLimiter;
  /** The limiter of another process on the same store. */
  readonly other: RateLimiter;
  readonly time: VirtualTime;
  /** Sets the clock to a number of milliseconds after the start, which is a full minute. */
  goTo(at: number): void;
  /** Returns the function that `expectTimeline` calls, for a rule and a subject. */
  ask(rule: Rule, subject?: SubjectValue): DecideOptions;
  expectTimeline(rule: Rule, table: string): Promise<void>;
}

/**
 * Returns a function that creates a new bench. The store is opened once and closed after the suite; the limiters of a test
 * are closed after it.
 */
export function benches(createStore: CreateStore): () => Bench {
  const time = new VirtualTime();
  const start = time.now;
  const limiters: RateLimiter[] = [];
  let store: BaseStore;
  beforeAll(async () => {
    store = await createStore(time.clock);
  });
  afterEach(() => Promise.all(limiters.splice(0).map((limiter) => limiter.close())));
  afterAll(() => store.close());
  return () => {
    time.now = start;
    // The test is about the store, not about a cache.
    const options = { store, prefix: uniquePrefix(), onStoreError: 'deny', denyCache: false } as const;
    const [limiter, other] = [new RateLimiter(options), new RateLimiter(options)];
    limiters.push(limiter, other);
    const goTo = (at: number) => {
      time.now = start + at;
    };
    const ask = (rule: Rule, subject: SubjectValue = 'ann'): DecideOptions => {
      return (at, cost) => {
        goTo(at);
        return limiter.consume(rule, subject, { cost });
      };
    };
    return {
      limiter,
      other,
      time,
      goTo,
      ask,
      expectTimeline: (rule, table) => expectTimeline(ask(rule), table),
    };
  };
}
