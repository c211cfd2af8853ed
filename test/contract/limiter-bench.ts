import { afterAll, beforeAll } from '@jest/globals';
import { RateLimiter, type Clock, type Rule, type BaseStore, type Subject } from '../../lib/index.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { expectTimeline, type DecideOptions } from '../support/timeline.js';
import { VirtualTime } from '../support/virtual-store.js';

/** Makes a store that goes by this clock. */
export type CreateStore = (clock: Clock) => BaseStore | Promise<BaseStore>;

/** A limiter on the store under test, in virtual time, with nothing counted yet. */
export interface Bench {
  readonly limiter: RateLimiter;
  /** The limiter of another process, on the same store. */
  readonly other: RateLimiter;
  readonly time: VirtualTime;
  /** Sets the time to so many milliseconds after the bench's start, which lies on a full minute. */
  goTo(at: number): void;
  /** A rule and a subject as `expectTimeline` asks them. */
  ask(rule: Rule, subject?: Subject): DecideOptions;
  expectTimeline(rule: Rule, table: string): Promise<void>;
}

/** A fresh bench a call; the store behind is opened once and closed after the suite. */
export function benches(createStore: CreateStore): () => Bench {
  const time = new VirtualTime();
  const start = time.now;
  let store: BaseStore;
  beforeAll(async () => {
    store = await createStore(time.clock);
  });
  afterAll(() => store.close());
  return () => {
    time.now = start;
    // What the store says is tested here, not what a cache remembers of it.
    const options = { store, prefix: uniquePrefix(), onStoreError: 'deny', denyCache: false } as const;
    const [limiter, other] = [new RateLimiter(options), new RateLimiter(options)];
    const goTo = (at: number) => {
      time.now = start + at;
    };
    const ask = (rule: Rule, subject: Subject = 'ann'): DecideOptions => {
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
