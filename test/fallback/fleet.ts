import { MemoryStore } from '../../lib/index.js';
import { RateLimiter, type RateLimiterOptions } from '../../lib/limiter.js';
import { VirtualTime } from '../support/virtual-store.js';
import { SharedStore } from './shared-store.js';

/** Several processes that share a store in virtual time. */
export class Fleet {
  readonly time = new VirtualTime();
  readonly store = new SharedStore(this.time);
  readonly limiters: RateLimiter[] = [];

  /** @param options the options of each process; `instances` is the number of processes unless given */
  constructor(processes: number, options: Partial<RateLimiterOptions> = {}) {
    for (let nth = 0; nth < processes; nth++) {
      const fallback = new MemoryStore({ clock: this.time.clock, maxKeys: 100 });
      this.limiters.push(new RateLimiter({ store: this.store, fallback, instances: processes, ...options }));
    }
  }

  /** Makes the store unavailable for all processes. */
  loseStore(): void {
    this.store.isGone = true;
  }

  async close(): Promise<void> {
    await Promise.all(this.limiters.map((limiter) => limiter.close()));
  }
}
