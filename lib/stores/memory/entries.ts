import { LRUCache } from 'lru-cache';
import { every, type Timer } from '../../contracts/timer.js';

/** A state in the map. */
interface Entry {
  readonly key: string;
  /** The generation of the map that holds it; absent after it was deleted. */
  generation: object | undefined;
  state: unknown;
  expiresAt: number;
  size: number;
  /** Total size added to the map when the entry was last moved to the front. */
  movedAt: number;
}

/** The key of a state, and the entry in which the state was last found: then the map does not look the key up again. */
export interface StateKey {
  readonly key: string;
  entry?: object | undefined;
}

const SWEEP_EVERY_MS = 1000;

const SWEPT_AT_ONCE = 1000;

/**
 * A map of states with a maximum total size: the least recently used states are evicted, and expired ones are deleted
 * by a timer. The key written last is never evicted, even if it alone exceeds the maximum.
 *
 * Moving a key to the front is most of the cost of an access, and only additions lead to evictions. Therefore a key is
 * moved again only after an eighth of the maximum size has been added since its last move.
 */
export class Entries {
  private cache: LRUCache<string, Entry> | undefined;
  private readonly stayMoved: number;
  /** Total size of all states. */
  private held = 0;
  /** Total size ever added. */
  private added = 0;
  /** Differs after each `clear`, so that entries from before are not held. */
  private generation = {};
  private sweeper: Timer | undefined;
  private sweepable: Iterator<string, unknown> | undefined;

  /**
   * @param maxSize the maximum total size
   * @param isGone whether a state that expires at an instant may be deleted now
   * @param evicted is called with the expiry of each state that is evicted
   */
  constructor(
    private readonly maxSize: number,
    private readonly isGone: (expiresAt: number) => boolean,
    private readonly evicted: (expiresAt: number) => void = () => undefined,
  ) {
    this.stayMoved = Math.floor(maxSize / 8);
  }

  /** Number of keys. */
  get count(): number {
    return this.cache?.size ?? 0;
  }

  get(stateKey: StateKey): unknown {
    return this.find(stateKey)?.state;
  }

  /** @param size an integer from 1 */
  set(stateKey: StateKey, state: unknown, expiresAt: number, size: number): void {
    const entry = this.find(stateKey);
    if (entry) {
      entry.state = state;
      entry.expiresAt = expiresAt;
      if (size !== entry.size) this.resize(entry, size);
    } else {
      this.add(stateKey, {
        key: stateKey.key,
        generation: this.generation,
        state,
        expiresAt,
        size,
        movedAt: 0,
      });
    }
  }

  /** Deletes a state. Returns its expiry; `undefined` if there was none. */
  delete(key: string): number | undefined {
    const entry = this.cache?.peek(key);
    if (!entry) return undefined;
    this.cache!.delete(key);
    return this.drop(entry);
  }

  clear(): void {
    this.sweeper?.stop();
    this.sweeper = undefined;
    this.generation = {};
    this.sweepable = undefined;
    this.cache = undefined;
    this.held = 0;
  }

  private add(stateKey: StateKey, entry: Entry): void {
    stateKey.entry = entry;
    this.held += entry.size;
    this.added += entry.size;
    entry.movedAt = this.added;
    // With `max`, it would allocate memory for all keys at once, and block the process meanwhile.
    this.cache ??= new LRUCache({ maxSize: Number.MAX_SAFE_INTEGER, sizeCalculation: () => 1 });
    this.cache.set(stateKey.key, entry);
    this.evict(this.cache);
    this.sweeper ??= this.startSweeper();
  }

  private resize(entry: Entry, size: number): void {
    const growth = size - entry.size;
    entry.size = size;
    this.held += growth;
    if (growth < 0) return;
    this.added += growth;
    if (this.held > this.maxSize) {
      this.moveToFront(this.cache!, entry);
      this.evict(this.cache!);
    }
  }

  private moveToFront(cache: LRUCache<string, Entry>, entry: Entry): void {
    cache.get(entry.key);
    entry.movedAt = this.added;
  }

  private evict(cache: LRUCache<string, Entry>): void {
    while (this.held > this.maxSize && cache.size > 1) {
      this.evicted(this.drop(cache.pop()!));
    }
  }

  /** Empties an entry that is no longer in the map, since a state key may refer to it. Returns its expiry. */
  private drop(entry: Entry): number {
    this.held -= entry.size;
    entry.generation = undefined;
    entry.state = undefined;
    return entry.expiresAt;
  }

  private find(stateKey: StateKey): Entry | undefined {
    const known = stateKey.entry as Entry | undefined;
    const isHeld = known?.generation === this.generation && known.key === stateKey.key;
    const entry = isHeld ? known : this.cache?.peek(stateKey.key);
    if (!entry) return undefined;
    if (entry !== known) stateKey.entry = entry;
    if (this.added - entry.movedAt >= this.stayMoved) this.moveToFront(this.cache!, entry);
    return entry;
  }

  /** The timer must not keep a store alive that is dropped without being closed, such as a fallback. */
  private startSweeper(): Timer {
    const self = new WeakRef(this);
    const sweeper = every(SWEEP_EVERY_MS, () => {
      const entries = self.deref();
      if (entries) entries.sweep();
      else sweeper.stop();
    });
    return sweeper;
  }

  /** Deletes expired keys, a limited number per run, so that requests do not wait for it. */
  private sweep(): void {
    const { cache } = this;
    if (!cache) return;
    this.sweepable ??= cache.rkeys();
    for (let visited = 0; visited < SWEPT_AT_ONCE; visited++) {
      const next = this.sweepable.next();
      if (next.done) {
        this.sweepable = undefined;
        break;
      }
      const entry = cache.peek(next.value);
      if (entry && this.isGone(entry.expiresAt)) this.delete(next.value);
    }
    if (cache.size === 0) this.clear();
  }
}

/** A counter's last reset, and the instant of the first charge after it; in microseconds since the epoch. */
interface Reset {
  readonly at: number;
  readonly chargesFrom: number;
}

/** The last reset of each counter, stored as long as earlier charges could be refunded. */
export class Resets {
  /** The instant of the last reset of any counter, in microseconds since the epoch. */
  lastAt = 0;

  constructor(private readonly entries: Entries) {}

  /**
   * Stores the reset at `lastAt` for a counter: 1 microsecond later than each charge before it, so that it differs from
   * charges at the same instant.
   *
   * @param expiresAt when the state of the counter would have expired
   */
  add(key: string, expiresAt: number): void {
    const { lastAt: at } = this;
    const reset = resetOf(key);
    const last = this.entries.get(reset) as Reset | undefined;
    const chargesFrom = (last?.at === at ? last.chargesFrom : at) + 1;
    const keptUntil = Math.max(expiresAt, this.entries.delete(reset.key) ?? 0);
    this.entries.set(reset, { at, chargesFrom } satisfies Reset, keptUntil, 1);
  }

  /** Returns the instant of the first charge after a counter's last reset; 0 if no earlier charge can be refunded. */
  chargesFrom(key: string): number {
    return (this.entries.get(resetOf(key)) as Reset | undefined)?.chargesFrom ?? 0;
  }
}

function resetOf(key: string): StateKey {
  return { key: `${key}:reset` };
}
