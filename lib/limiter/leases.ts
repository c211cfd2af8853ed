import { every, type Timer } from '../contracts/timer.js';
import type { Adjustment } from '../contracts/store.js';
import type { Adjusts } from './abandoned-requests.js';

const MICROSECONDS_PER_MS = 1000;
const RENEWALS_PER_LEASE = 3;
/** A renewal is sent earlier by up to this fraction of the interval, so that renewals are spread over time. */
const SPREAD = 0.5;
const GOLDEN_RATIO = 0.618_033_988_749;
const LOOKS_PER_RENEWAL = 20;
const LOOK_AT_MOST_EVERY_MS = 5;
const LOOK_AT_LEAST_EVERY_MS = 1000;
const MOST_AT_ONCE = 100;
/** Maximum number of leases of reservations; beyond it, the oldest is no longer renewed. */
const MOST_BOUNDED = 10_000;
/** How long a lease of a reservation is renewed. */
const LONGEST_MS = 86_400_000;

/** Permits that are held. */
export interface Held {
  /** Aborts if the permits are lost. */
  readonly signal: AbortSignal;
  /** Ends the renewals, and returns the adjustments that release the permits. */
  readonly end: () => readonly Adjustment[];
}

interface Renewal {
  /** Aborted when the lease is lost; absent when it is dropped: a table of the map may keep the rest of it. */
  lost: Pick<AbortController, 'abort'> | undefined;
  readonly leaseMs: number;
  /** By `performance.now()`. */
  dueAt: number;
  /** When the lease ends if it is not renewed, by `performance.now()`: the store may not be able to report it. */
  endsAt: number;
  /** When it is renewed no more, by `performance.now()`. */
  readonly until: number;
}

/**
 * Renews the leases that this process holds, with one timer. Each lease is renewed three times within its duration.
 *
 * Renewals are spread over the interval and are sent in calls of at most 100, so that many leases do not block the
 * store.
 */
export class Leases {
  private readonly held = new Map<Adjustment, Renewal>();
  /** The leases of reservations, the oldest first. */
  private readonly bounded = new Set<Adjustment>();
  private timer: Timer | undefined;
  private lookEveryMs = Infinity;
  private isRenewing = false;
  private isClosed = false;
  private turn = 0;

  /** @param renew never rejects */
  constructor(private readonly renew: Adjusts) {}

  /** @param isBounded whether the leases end when they are held for a day, or when there are 10,000 newer ones */
  hold(renewals: readonly Adjustment[], lost: NonNullable<Renewal['lost']>, isBounded = false): void {
    const until = isBounded ? performance.now() + LONGEST_MS : Infinity;
    for (const renewal of renewals) {
      const leaseMs = (renewal.parameters['lease'] ?? Infinity) / MICROSECONDS_PER_MS;
      const endsAt = performance.now() + leaseMs;
      this.held.set(renewal, { lost, leaseMs, dueAt: this.nextDue(leaseMs), endsAt, until });
      if (isBounded) this.bounded.add(renewal);
      this.lookEvery(leaseMs / RENEWALS_PER_LEASE / LOOKS_PER_RENEWAL);
    }
    for (const oldest of this.bounded) {
      if (this.bounded.size <= MOST_BOUNDED) break;
      this.lose(oldest, this.held.get(oldest)!);
    }
  }

  drop(renewals: readonly Adjustment[]): void {
    for (const renewal of renewals) {
      const held = this.held.get(renewal);
      if (held) held.lost = undefined;
      this.held.delete(renewal);
      this.bounded.delete(renewal);
    }
    if (this.held.size === 0) this.stop();
  }

  /** Stops all renewals, so that the leases expire: each is lost before it ends, also one that is held later. */
  close(): void {
    this.isClosed = true;
  }

  private stop(): void {
    this.timer?.stop();
    this.timer = undefined;
    this.lookEveryMs = Infinity;
  }

  /** Returns a different part of the interval each time, so that permits taken together are not renewed together. */
  private nextDue(leaseMs: number): number {
    this.turn = (this.turn + GOLDEN_RATIO) % 1;
    return performance.now() + (leaseMs / RENEWALS_PER_LEASE) * (1 - SPREAD * this.turn);
  }

  private lookEvery(milliseconds: number): void {
    const bounded = Math.min(Math.max(milliseconds, LOOK_AT_MOST_EVERY_MS), LOOK_AT_LEAST_EVERY_MS);
    if (bounded >= this.lookEveryMs) return;
    this.timer?.stop();
    this.lookEveryMs = bounded;
    this.timer = every(bounded, () => void this.renewDue());
  }

  private async renewDue(): Promise<void> {
    const now = performance.now();
    const due: Adjustment[] = [];
    for (const [renewal, held] of this.held) {
      // Before the next look, another process may have the permits.
      if (held.until <= now || held.endsAt - this.lookEveryMs <= now) this.lose(renewal, held);
      else if (held.dueAt <= now && !this.isClosed) due.push(renewal);
    }
    if (this.isRenewing) return;
    this.isRenewing = true;
    for (let at = 0; at < due.length; at += MOST_AT_ONCE) {
      await this.renewAll(due.slice(at, at + MOST_AT_ONCE).filter((renewal) => this.held.has(renewal)));
    }
    this.isRenewing = false;
  }

  private async renewAll(renewals: readonly Adjustment[]): Promise<void> {
    const sentAt = performance.now();
    const renewed = await this.renew(renewals);
    for (const [index, renewal] of renewals.entries()) {
      const held = this.held.get(renewal);
      if (!held) continue;
      if (renewed[index]) held.endsAt = sentAt + held.leaseMs;
      if (renewed[index] === false) this.lose(renewal, held);
      else held.dueAt = this.nextDue(held.leaseMs);
    }
  }

  private lose(renewal: Adjustment, { lost }: Renewal): void {
    lost?.abort(new Error('the lease has ended'));
    this.drop([renewal]);
  }
}
