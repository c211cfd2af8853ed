import { randomBytes } from 'node:crypto';
import type { Clock } from '../../contracts/clock.js';
import type { Adjustment } from '../../contracts/store.js';
import type { Announcements } from './announcements.js';
import { boundedParts, forEachPart } from './bounded-calls.js';
import { Call, type CallClock } from './call.js';
import type { Caller } from './caller.js';
import type { CurrentClient } from './current-client.js';
import { wasNotExecuted } from './not-executed.js';
import { RefundRetries, type AdjustsParts } from './refund-retries.js';

/** Sends adjustments, in parts of one slot each. Those that fail are retried as long as they can take effect. */
export class Adjuster implements AdjustsParts {
  readonly retries: RefundRetries;
  private readonly instance = randomBytes(6).toString('hex');
  private charges = 0;

  /** @param clock an estimate of the server's time */
  constructor(
    private readonly next: Caller,
    private readonly current: CurrentClient,
    private readonly announcements: Announcements,
    private readonly now: CallClock,
    clock: Clock,
  ) {
    this.retries = new RefundRetries(this, clock);
  }

  /** @param timeout milliseconds; by default that of the store */
  async adjust(adjustments: readonly Adjustment[], timeout?: number): Promise<readonly boolean[]> {
    const named = adjustments.map((each) => this.named(each));
    const parts = this.partsOf(named);
    if (parts.length === 1) return this.adjustPart(named, timeout);
    const replies = await forEachPart(parts, (part) => this.adjustPart(part, timeout));
    const adjusted = new Map(
      parts.flatMap((part, at) => part.map((each, nth) => [each, replies[at]![nth]!])),
    );
    return named.map((adjustment) => adjusted.get(adjustment)!);
  }

  /** Divides adjustments into parts for one call each. */
  partsOf(adjustments: readonly Adjustment[]): readonly (readonly Adjustment[])[] {
    return (this.current.cluster?.partition(adjustments) ?? [adjustments]).flatMap(boundedParts);
  }

  /** Sends adjustments in one call. Failed ones are retried. */
  async adjustPart(adjustments: readonly Adjustment[], timeout?: number): Promise<readonly boolean[]> {
    const call = new Call(this.now?.(), 'adjust');
    call.timeout = timeout;
    for (const adjustment of adjustments) call.addAdjustment(adjustment);
    let reply: number[];
    try {
      reply = (await this.next.run(call)) as number[];
    } catch (error) {
      if (!call.isSent) this.retries.add(adjustments);
      else this.retryIfNotMade(call, adjustments);
      throw error;
    }
    for (const { key, kind } of adjustments)
      if (kind !== 'renew' && kind !== 'charge') this.announcements.changed(key, false);
    return reply.map((adjusted) => adjusted === 1);
  }

  /** Retries named adjustments at once, and others only when the server has reported that they were not made. */
  private retryIfNotMade({ reply }: Call, adjustments: readonly Adjustment[]): void {
    this.retries.add(adjustments.filter(isNamed), { isSent: true });
    reply?.catch((late: unknown) => {
      if (wasNotExecuted(late)) this.retries.add(adjustments.filter((adjustment) => !isNamed(adjustment)));
    });
  }

  /** Names a charge, so that it can be sent again when its reply is lost. */
  private named(adjustment: Adjustment): Adjustment {
    if (adjustment.kind !== 'charge') return adjustment;
    return { ...adjustment, once: { name: `${this.instance}-${++this.charges}`, until: Infinity } };
  }
}

/** Whether an adjustment can be repeated: a named one is applied once. */
function isNamed({ receipt, once }: Adjustment): boolean {
  return once !== undefined || typeof receipt === 'string';
}
