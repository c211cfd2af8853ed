import { randomBytes } from 'node:crypto';
import { type Clock, toMicroseconds } from '../../../contracts/clock.js';
import { entryOf } from '../../../contracts/entry-of.js';
import type { Adjustment } from '../../../contracts/store.js';
import type { ChangeFeed } from '../link/change-feed.js';
import { boundedParts, forEachPart } from './bounded-calls.js';
import { Call, type CallClock, type Caller, REPEATED_FOR } from './call.js';
import type { CurrentClient } from '../link/current-client.js';
import { wasNotExecuted } from '../link/deadline.js';
import { reportBits } from './reply.js';
import { after, type Timer } from '../../../contracts/timer.js';

/** Sends adjustments, in parts of one slot each. Those that fail are retried as long as they can take effect. */
export class Adjuster {
  readonly retries: RefundRetries;
  private readonly instance = randomBytes(6).toString('hex');
  private charges = 0;

  /** @param clock an estimate of the server's time */
  constructor(
    private readonly next: Caller,
    private readonly current: CurrentClient,
    private readonly feed: ChangeFeed,
    private readonly now: CallClock,
    clock: Clock,
  ) {
    this.retries = new RefundRetries(this, clock);
  }

  /** @param timeout milliseconds; by default that of the store */
  async adjust(adjustments: readonly Adjustment[], timeout?: number): Promise<readonly boolean[]> {
    const named = adjustments.map((each) => this.named(each));
    const parts = this.partsOf(named);
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
    const reply = (await this.next.run(call).catch((error: unknown) => {
      this.retryIfNotMade(call, adjustments);
      throw error;
    })) as number[];
    for (const { key, kind } of adjustments)
      if (kind !== 'renew' && kind !== 'charge') this.feed.changed(key, false);
    for (let at = adjustments.length; at < reply.length; at += 2) {
      const index = reply[at]! - 1;
      reportBits(adjustments[index]!.alerts!, reply[at + 1]!, reply[index]! - 1);
    }
    for (const [index, { left }] of adjustments.entries()) if (reply[index]! > 0) left?.(reply[index]! - 1);
    const others = adjustments.filter((_, index) => reply[index]! < 0); // They would have made the call too long.
    const later = others.length > 0 ? await this.adjustPart(others, timeout).catch(() => []) : []; // Failed ones are retried.
    const made = new Set(others.filter((_, index) => later[index]));
    return adjustments.map((adjustment, index) => reply[index]! > 0 || made.has(adjustment));
  }

  /** Retries named adjustments at once, and others only when it is known that no server has made them. */
  private retryIfNotMade(call: Call, adjustments: readonly Adjustment[]): void {
    const { isSent } = call;
    this.retries.add(isSent ? adjustments.filter(isNamed) : adjustments, { isSent });
    if (!isSent) return;
    call.reply?.catch((late: unknown) => {
      if (!call.isSent || wasNotExecuted(late))
        this.retries.add(adjustments.filter((each) => !isNamed(each)));
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

/** The end of a charge, in microseconds since the epoch; 0 if the receipt is a name. */
function chargeEnd({ receipt }: Adjustment): number {
  return typeof receipt === 'number' ? receipt : 0;
}

const MOST = 10_000;
/** How long a responsive server may still execute a call whose reply is lost, in microseconds. */
const UNCERTAIN_FOR = 60e6;

const FIRST_RETRY_MS = 50;
const LATEST_RETRY_MS = 1000;

/** The state of a failed adjustment. */
interface Attempt {
  /** Until when it is retried, in microseconds since the epoch. */
  until: number;
  /** Whether the charge may not be executed yet. */
  readonly isUncertain: boolean;
  /** Whether a server may have executed the adjustment. */
  isSent: boolean;
}

/**
 * Retries failed adjustments until they succeed or their charge has expired. At most 10,000 are kept; beyond that, the
 * oldest are dropped and stay charged.
 */
export class RefundRetries {
  private waiting: Adjustment[] = [];
  /** The calls of the present round that are not sent yet. */
  private readonly unsent: (readonly Adjustment[])[] = [];
  private readonly attempts = new WeakMap<Adjustment, Attempt>();
  private rounds = 0;
  private timer: Timer | undefined;
  private isRetrying = false;
  /** Whether a server has recovered since the last attempts began. */
  private isDue = false;
  private isClosed = false;

  /**
   * @param adjuster passes failed adjustments to `add`
   * @param clock an estimate of the server's time
   */
  constructor(
    private readonly adjuster: Pick<Adjuster, 'partsOf' | 'adjustPart'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Adds failed adjustments. Renewals are ignored, since they are repeated anyway.
   *
   * @param isUncertain whether the charge may not be executed yet, or never
   * @param isSent whether a server may have executed the adjustments
   */
  add(adjustments: readonly Adjustment[], { isUncertain = false, isSent = false } = {}): void {
    if (this.isClosed) return;
    for (const adjustment of adjustments) {
      if (adjustment.kind === 'renew') continue;
      const until = isUncertain ? Infinity : this.endOf(adjustment);
      const attempt = entryOf(this.attempts, adjustment, () => ({ until, isUncertain, isSent: false }));
      if (isSent && !attempt.isSent) this.noteSent(adjustment, attempt);
      this.waiting.push(adjustment);
    }
    if (this.waiting.length > MOST) this.waiting = this.waiting.slice(-MOST);
    if (this.waiting.length > 0) this.timer ??= this.retryLater();
  }

  /** Retries immediately, since a server has recovered. */
  retryNow(): void {
    this.rounds = 0;
    if (this.waiting.length === 0) return;
    this.isDue = true;
    this.timer?.stop();
    void this.retry();
  }

  /** Retries once more, and stops. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.stop();
    this.takeAll();
    await Promise.allSettled(this.unsent.splice(0).map((chunk) => this.adjuster.adjustPart(chunk)));
  }

  /** A charge that may have been executed is retried only as long as the server stores its name. */
  private noteSent({ kind }: Adjustment, attempt: Attempt): void {
    attempt.isSent = true;
    const latest = toMicroseconds(this.clock()) + REPEATED_FOR;
    if (kind === 'charge') attempt.until = Math.min(attempt.until, latest);
  }

  private retryLater(): Timer {
    const pause = Math.min(FIRST_RETRY_MS * 2 ** this.rounds, LATEST_RETRY_MS);
    this.rounds += 1;
    return after(pause * (0.5 + Math.random() / 2), () => void this.retry());
  }

  private async retry(): Promise<void> {
    if (this.isRetrying) return;
    this.isRetrying = true;
    do {
      this.isDue = false;
      await this.retryAll();
    } while (this.isDue);
    this.isRetrying = false;
    this.timer = undefined;
    if (this.waiting.length === 0) this.rounds = 0;
    else if (!this.isClosed) this.timer = this.retryLater();
  }

  /** Retries call by call, since a server that has just recovered has other calls to execute. */
  private async retryAll(): Promise<void> {
    this.takeAll();
    while (this.unsent.length > 0) {
      const chunk = this.unsent.shift()!;
      const adjusted = await this.adjuster.adjustPart(chunk).catch(() => undefined); // failed ones have been added again
      if (adjusted)
        this.add(chunk.filter((adjustment, index) => !adjusted[index] && this.isUncertain(adjustment)));
    }
  }

  /**
   * Divides the waiting adjustments that have not expired into calls. Those of the last charges are the first: a refund of a
   * log rewrites the entries of later requests, and some are not made if others follow.
   */
  private takeAll(): void {
    const now = toMicroseconds(this.clock());
    const all = this.waiting.flatMap((adjustment) => this.dueAt(now, adjustment));
    this.waiting = [];
    this.unsent.push(...this.adjuster.partsOf(all.sort((one, other) => chargeEnd(other) - chargeEnd(one))));
  }

  /** Returns the adjustment to send: by its receipt if the name has expired, unless it may have been executed. */
  private dueAt(now: number, adjustment: Adjustment): Adjustment[] {
    const { until, isSent } = this.attempts.get(adjustment)!;
    if (until <= now) return [];
    const { once, ...unnamed } = adjustment;
    if (!once || now < once.until) return [adjustment];
    return isSent ? [] : [unnamed];
  }

  /** Whether a server that found nothing to refund may still execute the call that charges it. */
  private isUncertain(adjustment: Adjustment): boolean {
    const attempt = this.attempts.get(adjustment);
    if (!attempt?.isUncertain) return false;
    if (attempt.until === Infinity) {
      const latest = toMicroseconds(this.clock()) + UNCERTAIN_FOR;
      attempt.until = Math.min(this.endOf(adjustment), latest);
    }
    return true;
  }

  /** Returns when a charge expires: its receipt contains the time; a lease expires after the duration of its rule. */
  private endOf({ kind, receipt, parameters }: Adjustment): number {
    const now = toMicroseconds(this.clock());
    const isStated = typeof receipt === 'number' && receipt > 0;
    // Work that took longer than its reservation is still charged.
    if (isStated && (kind !== 'charge' || receipt > now)) return receipt;
    return now + (parameters['lease'] ?? REPEATED_FOR);
  }
}
