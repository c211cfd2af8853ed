import { toMicroseconds } from '../../contracts/clock.js';
import type { Adjustment, Counter, Hit, HitResult } from '../../contracts/store.js';
import type { BaseStore } from '../../contracts/base-store.js';

/** The warning of an application that has this store. */
export const OFF = 'RATE_LIMIT=off is set: every request is allowed and none is counted';

/** Allows every request and counts nothing: the store while limits are switched off. */
export class UnlimitedStore implements BaseStore {
  readonly source = 'memory';
  readonly shared = null;
  readonly clock = Date.now;
  readonly stopwatch = () => performance.now();

  decide(hits: readonly Hit[]): readonly HitResult[] {
    const now = toMicroseconds(this.clock());
    return hits.map(({ algorithm, parameters }) => {
      const { remaining } = algorithm.step(undefined, now, 0, parameters);
      const unlimited = { allowed: true, remaining, retryAfter: 0, resetAfter: 0, delay: 0 };
      return { ...unlimited, source: this.source, now, chargedAt: now };
    });
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<readonly boolean[]> {
    return adjustments.map(() => true);
  }

  block(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    return counters.map(() => false);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
