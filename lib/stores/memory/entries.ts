import { LRUCache } from 'lru-cache';

interface Entry {
  state: unknown;
  expiresAt: number;
  /** How many keys were new before it was moved to the front. */
  movedAt: number;
}

const SWEEP_EVERY_MS = 1000;
const SWEPT_AT_ONCE = 1000;

/**
 * A bounded map of states: the least recently used go first, and expired ones go in time.
 *
 * Moving a key to the front is most of what a hit costs, and only new keys push others out: so a key is moved
 * once in an eighth of `maxKeys` new ones, and a key that goes has seen no hit for seven eighths of them.
 */
export class Entries {
  /** Made with the first key, since it takes the room of all at once, and a fallback may never be asked. */
  private cache: LRUCache<string, Entry> | undefined;
  private readonly stayMoved: number;
  private added = 0;
  /** What was looked for last, as a state is read and then written. */
  private lastKey: string | undefined;
  private lastEntry: Entry | undefined;
  private sweeper: NodeJS.Timeout | undefined;
  private sweepable: Iterator<string, unknown> | undefined;

  /** @param isGone tells whether a state that expires at an instant may be forgotten */
  constructor(
    private readonly maxKeys: number,
    private readonly isGone: (expiresAt: number) => boolean,
  ) {
    this.stayMoved = Math.floor(maxKeys / 8);
  }

  get size(): number {
    return this.cache?.size ?? 0;
  }

  get(key: string): unknown {
    return this.find(key)?.state;
  }

  set(key: string, state: unknown, expiresAt: number): void {
    const entry = this.find(key);
    if (entry) {
      entry.state = state;
      entry.expiresAt = expiresAt;
    } else {
      this.added += 1;
      this.lastKey = undefined;
      this.cache ??= new LRUCache({ max: this.maxKeys });
      this.cache.set(key, { state, expiresAt, movedAt: this.added });
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
    }
  }

  /** Returns whether there was a state that had not expired. */
  delete(key: string): boolean {
    const entry = this.find(key);
    this.lastKey = undefined;
    this.cache?.delete(key);
    return entry !== undefined && !this.isGone(entry.expiresAt);
  }

  clear(): void {
    clearInterval(this.sweeper);
    this.sweeper = undefined;
    this.lastKey = undefined;
    this.sweepable = undefined;
    this.cache = undefined;
  }

  private find(key: string): Entry | undefined {
    if (key === this.lastKey) return this.lastEntry;
    const { cache } = this;
    const entry = cache?.peek(key);
    if (entry && this.added - entry.movedAt >= this.stayMoved) {
      cache!.get(key);
      entry.movedAt = this.added;
    }
    this.lastKey = key;
    this.lastEntry = entry;
    return entry;
  }

  /** Forgets expired keys, a slice at a time, so that a request never waits for it. */
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
