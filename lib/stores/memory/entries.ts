import { LRUCache } from 'lru-cache';

interface Entry {
  state: unknown;
  expiresAt: number;
  size: number;
  /** How much had been added before it was moved to the front. */
  movedAt: number;
}

const SWEEP_EVERY_MS = 1000;
const SWEPT_AT_ONCE = 1000;

/**
 * A map of states whose sizes are bounded in sum: the least recently used go first, and expired ones go in
 * time. The last key that was written never goes, even if it is larger than the bound by itself.
 *
 * Moving a key to the front is most of what a hit costs, and only what is new or grows pushes others out: so a
 * key is moved once in so much that is added as is an eighth of the bound.
 */
export class Entries {
  /** Made with the first key, since it takes the room of all at once, and a fallback may never be asked. */
  private cache: LRUCache<string, Entry> | undefined;
  private readonly stayMoved: number;
  /** All sizes that are held. */
  private held = 0;
  /** All sizes that have ever been added. */
  private added = 0;
  /** What was looked for last, as a state is read and then written. */
  private lastKey: string | undefined;
  private lastEntry: Entry | undefined;
  private sweeper: NodeJS.Timeout | undefined;
  private sweepable: Iterator<string, unknown> | undefined;

  /**
   * @param maxSize the bound of all sizes together
   * @param isGone tells whether a state that expires at an instant may be forgotten
   */
  constructor(
    private readonly maxSize: number,
    private readonly isGone: (expiresAt: number) => boolean,
  ) {
    this.stayMoved = Math.floor(maxSize / 8);
  }

  /** How many keys there are. */
  get count(): number {
    return this.cache?.size ?? 0;
  }

  get(key: string): unknown {
    return this.find(key)?.state;
  }

  /** @param size an integer from 1 */
  set(key: string, state: unknown, expiresAt: number, size: number): void {
    const entry = this.find(key);
    if (entry) {
      entry.state = state;
      entry.expiresAt = expiresAt;
      if (size !== entry.size) this.resize(key, entry, size);
    } else {
      this.add(key, { state, expiresAt, size, movedAt: 0 });
    }
  }

  /** Returns until when the state was to be kept; `undefined` if there was none. */
  delete(key: string): number | undefined {
    const entry = this.cache?.peek(key);
    this.lastKey = undefined;
    if (!entry) return undefined;
    this.held -= entry.size;
    this.cache!.delete(key);
    return entry.expiresAt;
  }

  clear(): void {
    clearInterval(this.sweeper);
    this.sweeper = undefined;
    this.lastKey = undefined;
    this.sweepable = undefined;
    this.cache = undefined;
    this.held = 0;
  }

  private add(key: string, entry: Entry): void {
    this.lastKey = undefined;
    this.held += entry.size;
    this.added += entry.size;
    entry.movedAt = this.added;
    this.cache ??= new LRUCache({ max: this.maxSize + 1 }); // One is over the bound before another goes.
    this.cache.set(key, entry);
    this.evict(this.cache);
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
  }

  private resize(key: string, entry: Entry, size: number): void {
    const growth = size - entry.size;
    entry.size = size;
    this.held += growth;
    if (growth < 0) return;
    this.added += growth;
    if (this.held > this.maxSize) {
      this.moveToFront(this.cache!, key, entry);
      this.evict(this.cache!);
    }
  }

  private moveToFront(cache: LRUCache<string, Entry>, key: string, entry: Entry): void {
    cache.get(key);
    entry.movedAt = this.added;
  }

  private evict(cache: LRUCache<string, Entry>): void {
    while (this.held > this.maxSize && cache.size > 1) this.held -= cache.pop()!.size;
  }

  private find(key: string): Entry | undefined {
    if (key === this.lastKey) return this.lastEntry;
    const { cache } = this;
    const entry = cache?.peek(key);
    if (entry && this.added - entry.movedAt >= this.stayMoved) this.moveToFront(cache!, key, entry);
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
