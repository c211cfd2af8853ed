import { toMicroseconds, type Clock } from '../contracts/clock.js';
import type { Adjustment } from '../contracts/store.js';
import type { RuleHit } from '../rules/compiled-rule.js';

/** Maximum number of refunds that are kept, of all counters together. */
const MOST = 1000;

/** Number of refunds in the first call of a try, and in each later one: most tries find a request of others in front. */
const FEW = 10;
const MANY = 100;

/** Adjusts counters. Returns for each whether there was a charge to adjust, unless that is unknown. */
export type Adjusts = (adjustments: readonly Adjustment[]) => Promise<readonly (boolean | undefined)[]>;

/** The refund of a request that has left its queue. */
interface Abandoned {
  readonly refund: Adjustment;
  /** When the charge expires, in microseconds since the epoch: a request with a later end is behind it in the queue. */
  readonly endsAt: number;
  isSent: boolean;
  /** Whether a request behind it was refunded since it was sent. */
  isDue: boolean;
}

/**
 * Refunds requests that leave a queue, such as those of clients that disconnect. A request with others behind it cannot be
 * refunded: its refund is kept until those of this process have left as well, or its charge has expired.
 *
 * At most 1,000 refunds are kept. Beyond that, the oldest are dropped, and their permits stay charged.
 */
export class AbandonedRequests {
  private readonly kept = new Set<Abandoned>();

  /** @param clock an estimate of the store's time */
  constructor(
    private readonly adjust: Adjusts,
    private readonly clock: Clock,
  ) {}

  /** Number of refunds that are kept. */
  get size(): number {
    return this.kept.size;
  }

  /** Refunds the charges of one request, by adjustments of the kind `refund-last`. */
  async refund(refunds: readonly Adjustment[]): Promise<void> {
    await Promise.all(refunds.map((refund) => this.send([this.keep(refund)])));
  }

  /** Refunds a request that leaves its queues: there, only what no later request waits behind. */
  async leave(hits: readonly RuleHit[], refunds: readonly Adjustment[]): Promise<void> {
    const queues = new Set(hits.filter(({ rule }) => rule.queues).map(({ key }) => key));
    const others = refunds.filter(({ key }) => !queues.has(key));
    await Promise.all([
      this.refund(refunds.filter(({ key }) => queues.has(key))),
      others.length > 0 ? this.adjust(others) : undefined,
    ]);
  }

  private keep(refund: Adjustment): Abandoned {
    const now = this.now();
    for (const oldest of this.kept) {
      if (this.kept.size < MOST && oldest.endsAt > now) break;
      this.kept.delete(oldest);
    }
    const abandoned = { refund, endsAt: Number(refund.receipt), isSent: false, isDue: false };
    this.kept.add(abandoned);
    return abandoned;
  }

  /** Sends refunds of one counter, the last request first. */
  private async send(sent: readonly Abandoned[]): Promise<void> {
    for (const each of sent) Object.assign(each, { isSent: true, isDue: false });
    const refunded = await this.adjust(sent.map(({ refund }) => refund));
    let isDue = false;
    for (const [index, each] of sent.entries()) {
      each.isSent = false;
      if (refunded[index] !== false) this.kept.delete(each);
      else isDue ||= each.isDue;
    }
    const last = sent.at(-1)!;
    if (refunded[sent.length - 1] === true) await this.sendBefore(last, sent.length < FEW ? FEW : MANY);
    else if (isDue) await this.sendBefore({ ...sent[0]!, endsAt: Infinity }, FEW);
  }

  /** Sends the refunds of requests that were in front of one that has left the queue as the last. */
  private async sendBefore({ refund, endsAt }: Abandoned, most: number): Promise<void> {
    const now = this.now();
    const before: Abandoned[] = [];
    for (const each of this.kept) {
      if (each.refund.key !== refund.key || each.refund.source !== refund.source) continue;
      // Without a refund, two tries would repeat each other forever.
      if (each.isSent) each.isDue ||= endsAt < Infinity;
      else if (each.endsAt <= now) this.kept.delete(each);
      else if (each.endsAt < endsAt) before.push(each);
    }
    before.sort((one, other) => other.endsAt - one.endsAt);
    if (before.length > 0) await this.send(before.slice(0, most));
  }

  private now(): number {
    return toMicroseconds(this.clock());
  }
}
