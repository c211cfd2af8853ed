import { LRUCache } from 'lru-cache';
import type { Verdict } from '../../contracts/algorithm.js';
import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import type { Hit, Store } from '../../contracts/store.js';

export interface MemoryStoreOptions {
  /**
   * Tells the time in milliseconds since the epoch.
   * @default Date.now
   */
  readonly clock?: Clock;
  /**
   * The most keys held, an integer from 1. Beyond it the least recently used are forgotten.
   * @default 100_000
   */
  readonly maxKeys?: number;
}

interface Entry {
  state: unknown;
  expiresAt: number;
}

const SWEEP_EVERY_MS = 1000;
const SWEPT_AT_ONCE = 1000;

/** Holds the state in this process, decides exactly as Redis does, and is gone with the process. */
export class MemoryStore implements Store {
  readonly source = 'memory';
  private readonly clock: Clock;
  private readonly entries: LRUCache<string, Entry>;
  private sweeper: NodeJS.Timeout | undefined;
  private sweepable: Iterator<string, unknown> | undefined;

  /** @throws RangeError if `maxKeys` is not an integer from 1 */
  constructor({ clock = Date.now, maxKeys = 100_000 }: MemoryStoreOptions = {}) {
    if (!Number.isInteger(maxKeys) || maxKeys < 1) {
      throw new RangeError(`maxKeys: got ${String(maxKeys)}; allowed: an integer from 1`);
    }
    this.clock = clock;
    this.entries = new LRUCache({ max: maxKeys });
  }

  /** Keys held now, those that have expired but not been swept yet included. */
  get size(): number {
    return this.entries.size;
  }

  decide(hits: readonly Hit[], dryRun: boolean): readonly Verdict[] {
    const now = toMicroseconds(this.clock());
    const steps = hits.map((hit) => this.step(hit, now, hit.cost));
    if (dryRun || !steps.every(({ allowed }) => allowed)) {
      return steps.map((step, index) => (step.allowed ? this.step(hits[index]!, now, 0) : step));
    }
    steps.forEach((step, index) => {
      const { key, cost } = hits[index]!;
      if (step.allowed && cost > 0) this.save(key, step.state, now + step.expiresAfter);
    });
    return steps;
  }

  async reset(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.entries.delete(key);
  }

  async close(): Promise<void> {
    clearInterval(this.sweeper);
    this.sweeper = undefined;
    this.entries.clear();
  }

  private step({ key, algorithm, parameters }: Hit, now: number, cost: number) {
    return algorithm.step(this.entries.get(key)?.state, now, cost, parameters);
  }

  private save(key: string, state: unknown, expiresAt: number): void {
    const entry = this.entries.get(key);
    if (entry) {
      entry.state = state;
      entry.expiresAt = expiresAt;
      return;
    }
    this.entries.set(key, { state, expiresAt });
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
  }

  /** Forgets expired keys, a slice at a time, so that a request never waits for it. */
  private sweep(): void {
    const now = toMicroseconds(this.clock());
    this.sweepable ??= this.entries.rkeys();
    for (let visited = 0; visited < SWEPT_AT_ONCE; visited++) {
      const { done, value: key } = this.sweepable.next();
      if (done) {
        this.sweepable = undefined;
        break;
      }
      const entry = this.entries.peek(key as string);
      if (entry && entry.expiresAt <= now) this.entries.delete(key as string);
    }
    if (this.entries.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }
}
