import {
  MemoryStore,
  type Ask,
  type Counter,
  type Amendment,
  type Hit,
  type Outcome,
  type Store,
} from '../../lib/index.js';
import type { VirtualTime } from '../support/virtual-store.js';

/** A store that several limiters share, in virtual time. It can go away, and then knows nothing any more. */
export class SharedStore extends MemoryStore implements Store {
  override readonly source = 'redis' as never;
  readonly stopwatch: () => number;
  isGone = false;
  private readonly alive = new Set<string>();

  constructor(time: VirtualTime) {
    super({ clock: time.clock, maxKeys: 100 });
    this.stopwatch = time.clock;
  }

  override decide(hits: readonly Hit[], ask: Ask): Outcome {
    this.check();
    return super.decide(hits, ask);
  }

  override async amend(amendments: readonly Amendment[]): Promise<readonly boolean[]> {
    this.check();
    return super.amend(amendments);
  }

  override async block(counter: Counter, duration: number): Promise<void> {
    this.check();
    await super.block(counter, duration);
  }

  override async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    this.check();
    return super.reset(counters);
  }

  async heartbeat({ instance, duration }: { instance: string; duration: number }): Promise<number> {
    this.check();
    if (duration > 0) this.alive.add(instance);
    else this.alive.delete(instance);
    return this.alive.size;
  }

  private check(): void {
    if (this.isGone) throw new Error('the store is gone');
  }
}
