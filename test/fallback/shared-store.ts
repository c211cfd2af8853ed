import { MemoryStore } from '../../lib/index.js';
import type {
  Adjustment,
  BaseStore,
  Counter,
  DecideOptions,
  Heartbeat,
  Hit,
  HitResult,
  SharedStore as Shared,
} from '../../lib/store.js';
import { toMicroseconds } from '../../lib/contracts/clock.js';
import { Heartbeats } from '../support/heartbeats.js';
import { sharedBy } from '../support/shared-by.js';
import type { VirtualTime } from '../support/virtual-store.js';

/** A store that several limiters share, in virtual time. It can become unavailable. */
export class SharedStore extends MemoryStore implements BaseStore {
  override readonly source = 'redis' as never;
  override readonly shared: Shared & null;
  isGone = false;
  private readonly heartbeats = new Heartbeats();

  constructor(time: VirtualTime) {
    super({ clock: time.clock, maxKeys: 100 });
    this.shared = sharedBy((heartbeat) => this.heartbeat(heartbeat));
  }

  override decide(hits: readonly Hit[], options: DecideOptions): readonly HitResult[] {
    this.check();
    return super.decide(hits, options);
  }

  override async adjust(adjustments: readonly Adjustment[]): Promise<readonly boolean[]> {
    this.check();
    return super.adjust(adjustments);
  }

  override async block(counter: Counter, duration: number): Promise<boolean> {
    this.check();
    return super.block(counter, duration);
  }

  override async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    this.check();
    return super.reset(counters);
  }

  private async heartbeat(heartbeat: Heartbeat): Promise<number> {
    this.check();
    return this.heartbeats.beat(heartbeat, toMicroseconds(this.clock()));
  }

  private check(): void {
    if (this.isGone) throw new Error('the store is gone');
  }
}
