import { toMicroseconds } from '../../contracts/clock.js';
import type { Adjustment, Hit, HitResult } from '../../contracts/store.js';
import { MemoryStore } from './memory.store.js';

/** The warning of an application that has this store. */
export const OFF = 'RATE_LIMIT=off is set: every request is allowed and none is counted';

/** Allows every request and counts nothing: the store while limits are switched off. */
export class UnlimitedStore extends MemoryStore {
  override decide(hits: readonly Hit[]): readonly HitResult[] {
    const now = toMicroseconds(this.clock());
    return hits.map(({ algorithm, parameters }) => {
      const { remaining } = algorithm.step(undefined, now, 0, parameters);
      const unlimited = { allowed: true, remaining, retryAfter: 0, resetAfter: 0, delay: 0 };
      return { ...unlimited, source: this.source, now, chargedAt: now };
    });
  }

  override async adjust(adjustments: readonly Adjustment[]): Promise<readonly boolean[]> {
    return adjustments.map(() => true);
  }
}
