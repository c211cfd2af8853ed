import { LRUCache } from 'lru-cache';

interface Entry {
  state: unknown;
  expiresAt: number;
}

const SWEEP_EVERY_MS = 1000;
const SWEPT_AT_ONCE = 1000;

/** A bounded map of states: the least recently used go first, and expired ones go in time. */
export class Entries {
  private readonly cache: LRUCache<string, Entry>;
  private sweeper: NodeJS.Timeout | undefined;
  private sweepable: Iterator<string, unknown> | undefined;

  /** @param isGone tells whether a state that expires at an instant may be forgotten */
  constructor(
    maxKeys: number,
    private readonly isGone: (expiresAt: number) => boolean,
  ) {
    this.cache = new LRUCache({ max: maxKeys });
  }

  get size(): number {
    return this.cache.size;
  }

  get(key: string): unknown {
    return this.cache.get(key)?.state;
  }

  set(key: string, state: unknown, expiresAt: number): void {
    const entry = this.cache.get(key);
    if (entry) {
      entry.state = state;
      entry.expiresAt = expiresAt;
    } else {
      this.cache.set(key, { state, expiresAt });
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
    }
  }

  delete(key: string): void {
    this.cache.delete(key);
  }

  clear(): void {
    clearInterval(this.sweeper);
    this.sweeper = undefined;
    this.cache.clear();
  }

  /** Forgets expired keys, a slice at a time, so that a request never waits for it. */
  private sweep(): void {
    this.sweepable ??= this.cache.rkeys();
    for (let visited = 0; visited < SWEPT_AT_ONCE; visited++) {
      const next = this.sweepable.next();
      if (next.done) {
        this.sweepable = undefined;
        break;
      }
      const entry = this.cache.peek(next.value);
      if (entry && this.isGone(entry.expiresAt)) this.cache.delete(next.value);
    }
    if (this.cache.size === 0) this.clear();
  }
}
