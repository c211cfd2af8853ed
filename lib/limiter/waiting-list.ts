import { after, every, type Timer } from '../contracts/timer.js';

/**
 * The first waiting request of each counter asks this often, because the message of a turn can be lost, and the whole
 * queue if the server loses its state.
 */
const CHECK_EVERY_MS = 1000;
/** Maximum number of counters that are checked at a time; the others follow in later checks. */
const MOST_CHECKED = 100;
/** The report of a turn may come later than the reply that has its permits, but not later than this. */
const REPORTED_WITHIN_MS = 250;

/** A request that waits. */
export interface Waiter {
  readonly keys: ReadonlySet<string>;
  /** Ends the pause before it asks again, or the next one. */
  readonly wake: () => void;
  /** Whether it asks because of a check, and its turn was not reported since. */
  isChecked: boolean;
}

/**
 * The requests of this process that wait, in the order of arrival. Once a second, the first of each counter asks again.
 * See docs/adr/0054-changes-that-are-not-reported.md.
 */
export class WaitingList {
  /** Whether the first of each counter asks once a second. */
  isChecking = false;
  private readonly waiters = new Map<string, Waiter>();
  private timer: Timer | undefined;
  private checks = 0;
  /** The leases that got their permits by a check, and whose turn has not been reported yet. */
  private readonly unreported = new Set<string>();

  add(leases: readonly string[], waiter: Waiter): void {
    for (const lease of leases) this.waiters.set(lease, waiter);
    this.timer ??= every(CHECK_EVERY_MS, () => this.check());
  }

  remove(leases: readonly string[]): void {
    for (const lease of leases) this.waiters.delete(lease);
    if (this.waiters.size > 0) return;
    this.timer?.stop();
    this.timer = undefined;
  }

  /** Wakes the request whose turn is reported. */
  came(lease: string): void {
    this.unreported.delete(lease);
    const waiter = this.waiters.get(lease);
    if (!waiter) return;
    waiter.isChecked = false;
    waiter.wake();
  }

  wake(isMeant: (waiter: Waiter) => boolean = () => true): void {
    for (const waiter of new Set(this.waiters.values())) if (isMeant(waiter)) waiter.wake();
  }

  /**
   * Lets the others of a counter ask if a check has found that a turn came and is not reported: theirs may have been lost
   * as well.
   */
  asked(waiter: Waiter, leases: readonly string[], isWaiting: boolean): void {
    const isServed = waiter.isChecked && !isWaiting;
    waiter.isChecked = false;
    if (!isServed) return;
    for (const lease of leases) this.unreported.add(lease);
    after(REPORTED_WITHIN_MS, () => {
      const isReported = leases.every((lease) => !this.unreported.delete(lease));
      if (!isReported) this.wake(({ keys }) => [...keys].some((key) => waiter.keys.has(key)));
    });
  }

  private check(): void {
    if (!this.isChecking) return;
    const first = new Map<string, Waiter>();
    for (const waiter of this.waiters.values()) {
      for (const key of waiter.keys) if (!first.has(key)) first.set(key, waiter);
    }
    const waiters = [...new Set(first.values())];
    for (let nth = 0; nth < Math.min(waiters.length, MOST_CHECKED); nth += 1) {
      const waiter = waiters[(this.checks + nth) % waiters.length]!;
      waiter.isChecked = true;
      waiter.wake();
    }
    this.checks += MOST_CHECKED;
  }
}
