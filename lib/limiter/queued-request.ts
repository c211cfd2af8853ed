import { isDenied, type Hit, type HitResult } from '../contracts/store.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { Charge, isHeld, isPaid, toMilliseconds } from './decision.js';
import { type Turn, WaitingRequest } from './waiting-request.js';

/** While turns are not reported, a waiting request is sent again at this interval, in microseconds. */
const UNREPORTED = 1e6;
const ASKS_PER_LEASE = 3;
/** A request is sent earlier by up to this fraction of the interval, so that requests are spread over time. */
const SPREAD = 0.5;

/**
 * A request whose leases wait in the queues of the store. Its other hits are charged when it arrives, and refunded if it
 * is denied later. It is sent again when its turn is reported, three times within its lease, which renews the lease, and
 * when the permits that it would get next may expire. See docs/adr/0053-the-queue-of-concurrency.md.
 */
export class QueuedRequest extends WaitingRequest {
  private names = 0;

  get keys(): readonly string[] {
    return this.hits.filter(isLeased).map(({ key }) => key);
  }

  get leases(): readonly string[] {
    return this.hits.flatMap(({ lease }) => lease ?? []);
  }

  /** After the longest wait, and if it is denied while it waits, all hits are decided once more without waiting. */
  async decide({ until, isTrusted }: Turn): Promise<number | undefined> {
    if (performance.now() >= until || !(await this.isAccepted())) {
      this.isChecked = false;
      await this.refund(isPaid);
      await this.decideNow();
      return undefined;
    }
    return this.isWaiting ? this.pauseMs(isTrusted) : undefined;
  }

  async leave(): Promise<void> {
    await this.refund(isHeld);
  }

  private get isWaiting(): boolean {
    return this.results.some((result, index) => isQueued(this.hits[index]!, result));
  }

  private pauseMs(isTrusted: boolean): number {
    const pauses = this.hits.flatMap((hit, index) => {
      if (!isLeased(hit)) return [];
      const result = this.results[index]!;
      const renewal = (hit.parameters['lease']! / ASKS_PER_LEASE) * (1 - SPREAD * Math.random());
      const isReported = isTrusted && result.source !== 'fallback';
      return [renewal, isQueued(hit, result) ? result.delay : Infinity, isReported ? Infinity : UNREPORTED];
    });
    return toMilliseconds(Math.min(...pauses));
  }

  /**
   * Sends it. Later, sends its leases once more; if another store decides now, it leaves both, and begins anew under other
   * names: a release that is retried must not release what it gets later.
   *
   * @returns whether it was not denied while it waited
   */
  private async isAccepted(): Promise<boolean> {
    if (this.results.length === 0) {
      this.results = await this.store.decide(this.hits, {});
      return true;
    }
    let now = await this.ask();
    if (now.some(({ source }, index) => source !== this.results[index]!.source)) {
      await this.refund(isHeld);
      await this.refund(isHeld, now);
      this.rename();
      now = await this.ask();
    }
    if (isDenied(this.hits, now)) return false; // The results before show what it holds.
    this.results = now;
    return true;
  }

  /** Sends its leases. Returns all results. */
  private async ask(): Promise<readonly HitResult[]> {
    const asked = this.hits.filter(isLeased).map((hit) => ({ ...hit, waits: true }));
    const now = (await this.store.decide(asked, {})).values();
    return this.hits.map((hit, index) => (isLeased(hit) ? now.next().value! : this.results[index]!));
  }

  private async decideNow(): Promise<void> {
    this.rename();
    this.hits = this.hits.map((hit) => (hit.waits ? { ...hit, waits: false } : hit));
    this.results = await this.store.decide(this.hits, {});
  }

  private async refund(isRefunded: (hit: Hit) => boolean, results = this.results): Promise<void> {
    if (results.length === 0) return;
    const charges = new Charge(this.hits, results).take('refund', isRefunded);
    if (charges.length > 0) await this.store.adjust(charges);
  }

  private rename(): void {
    this.names += 1;
    this.hits = this.hits.map((hit) =>
      hit.lease === undefined ? hit : { ...hit, lease: `${ownerOf(hit.lease)}.${this.names}` },
    );
  }
}

/** Returns the name that a lease had first: it has others if its request begins anew. */
export function ownerOf(lease: string): string {
  return lease.split('.', 1)[0]!;
}

function isLeased({ lease }: Hit): boolean {
  return lease !== undefined;
}

/** Whether a lease has only a place in the queue so far. */
function isQueued(hit: RuleHit, { allowed, delay }: HitResult): boolean {
  return isLeased(hit) && !hit.shadow && allowed && delay > 0;
}
