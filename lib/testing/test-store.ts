import type { Clock } from '../contracts/clock.js';
import type { Adjustment, BaseStore, Counter, DecideOptions, Hit } from '../contracts/store.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { UnlimitedStore } from '../stores/unlimited/unlimited.store.js';

/** A memory store that a test clears, and replaces by one that allows every request. */
export class TestStore implements BaseStore {
  readonly source = 'memory';
  readonly shared = null;
  readonly stopwatch: Clock;
  private readonly unlimited = new UnlimitedStore();
  private counters: MemoryStore;
  private isOff = false;

  constructor(readonly clock: Clock) {
    this.stopwatch = clock;
    this.counters = new MemoryStore({ clock });
  }

  clear(): void {
    this.counters = new MemoryStore({ clock: this.clock });
  }

  switchOff(isOff: boolean): void {
    this.isOff = isOff;
  }

  decide(hits: readonly Hit[], options: DecideOptions) {
    return this.isOff ? this.unlimited.decide(hits) : this.counters.decide(hits, options);
  }

  adjust(adjustments: readonly Adjustment[]) {
    return this.counters.adjust(adjustments);
  }

  block(counter: Counter, duration: number) {
    return this.counters.block(counter, duration);
  }

  reset(counters: readonly Counter[]) {
    return this.counters.reset(counters);
  }

  close() {
    return this.counters.close();
  }
}
