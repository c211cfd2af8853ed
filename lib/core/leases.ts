import type { Amendment } from '../contracts/store.js';

const MICROSECONDS_PER_MS = 1000;
const RENEWALS_PER_LEASE = 3;

/** Lets leases last anew; says of each whether it was still there, `undefined` if nobody knows. */
export type Renew<Held> = (renewals: readonly Held[]) => Promise<readonly (boolean | undefined)[]>;

/** Renews what this process holds, each lease three times before it would expire, by one timer. */
export class Leases<Held extends Amendment> {
  /** What is held, each with what to abort when it is lost. */
  private readonly held = new Map<Held, AbortController>();
  private timer: NodeJS.Timeout | undefined;
  private everyMs = Infinity;

  constructor(private readonly renew: Renew<Held>) {}

  hold(renewals: readonly Held[], lost: AbortController): void {
    for (const renewal of renewals) {
      this.held.set(renewal, lost);
      const lease = renewal.parameters['lease'] ?? Infinity;
      this.runEvery(lease / MICROSECONDS_PER_MS / RENEWALS_PER_LEASE);
    }
  }

  drop(renewals: readonly Held[]): void {
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
    this.timer = setInterval(() => void this.renewAll(), milliseconds).unref();
  }

  private async renewAll(): Promise<void> {
    const renewals = [...this.held.keys()];
    const renewed = await this.renew(renewals);
    for (const [index, renewal] of renewals.entries()) if (renewed[index] === false) this.lose(renewal);
  }

  private lose(renewal: Held): void {
    this.held.get(renewal)?.abort(new Error('the lease has ended'));
    this.drop([renewal]);
  }
}
