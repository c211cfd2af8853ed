import type { Store } from '../contracts/store.js';
import type { BaseStore } from '../contracts/base-store.js';
import type { HitWait, RuleHit } from '../rules/compiled-rule.js';
import { AcquireLines } from './acquire-lines.js';
import { Waiters, type Wait } from './waiters.js';
import type { Decided } from './waiting-request.js';

/** Decides requests that wait for permits: those of leases in the queues of the store, others in this process. */
export class Waits {
  private readonly waiters: Waiters;
  private readonly lines: AcquireLines;

  /**
   * @param store decides, with all layers
   * @param base reports turns
   * @param instance prefix of the names of this process's leases
   */
  constructor(store: Store<RuleHit>, base: BaseStore, prefix: string, instance: string) {
    this.waiters = new Waiters(store, base, prefix, instance);
    this.lines = new AcquireLines(store);
  }

  /** @throws the signal's reason if it aborts */
  async decide(hits: readonly RuleHit[], wait: Wait): Promise<Decided> {
    wait.signal?.throwIfAborted();
    const queue = hits.some(({ waits }) => waits) ? this.waiters : this.lines;
    return queue.decide(hits, wait);
  }

  /** Follows the turns of the store that decides while the first one cannot. */
  followFallback(store: BaseStore): void {
    this.waiters.followFallback(store);
  }

  /** Decides the waiting requests again, because another store decides from now on. */
  wakeAll(): void {
    this.waiters.wakeAll();
    this.lines.wakeAll();
  }

  /** Decides the waiting requests again with the limits that their rules have now. */
  rulesChanged(): void {
    this.waiters.rulesChanged();
    this.lines.rulesChanged();
  }

  /** Ends the waits: each request is decided once more, and later ones do not wait. */
  async close(): Promise<void> {
    this.lines.close();
    await this.waiters.close();
  }
}

/** Returns the shortest wait of some hits: all of them are taken together. */
export function waitOf(hits: readonly RuleHit[], { signal }: HitWait): Wait {
  return {
    maxWaitMs: Math.min(...hits.map(({ wait }) => wait?.maxWaitMs ?? Infinity)),
    signal: signal(),
    current: async () => (await Promise.all(hits.map(({ wait }) => wait?.current?.() ?? []))).flat(),
  };
}
