import type { Amendment } from '../contracts/store.js';

const MICROSECONDS_PER_MS = 1000;
const RENEWALS_PER_LEASE = 3;

/** Renews what this process holds, each lease three times before it would expire, by one timer. */
export class Leases {
  private readonly held = new Set<Amendment>();
  private timer: NodeJS.Timeout | undefined;
  private everyMs = Infinity;

  constructor(private readonly renew: (renewals: readonly Amendment[]) => Promise<unknown>) {}

  hold(renewals: readonly Amendment[]): void {
    for (const renewal of renewals) {
      this.held.add(renewal);
      const lease = renewal.parameters['lease'] ?? Infinity;
      this.runEvery(lease / MICROSECONDS_PER_MS / RENEWALS_PER_LEASE);
    }
  }

  drop(renewals: readonly Amendment[]): void {
    for (const renewal of renewals) this.held.delete(renewal);
    if (this.held.size === 0) this.close();
  }

  /** Lets everything that is held lapse. */
  close(): void {
    this.held.clear();
    clearInterval(this.timer);
    this.timer = undefined;
    this.everyMs = Infinity;
  }

  private runEvery(milliseconds: number): void {
    if (milliseconds >= this.everyMs) return;
    clearInterval(this.timer);
    this.everyMs = milliseconds;
    this.timer = setInterval(() => void this.renew([...this.held]), milliseconds).unref();
  }
}
