import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import type { Adjustment } from '../../contracts/store.js';
import { boundedParts } from './bounded-calls.js';
import { REPEATED_FOR } from './call.js';

const MOST = 10_000;
/** For how long a call whose reply is lost may still be run by a server that answers. */
const UNCERTAIN_FOR = 60e6;
const FIRST_RETRY_MS = 50;
const LATEST_RETRY_MS = 1000;

/** What is known of an adjustment that failed. */
interface Attempt {
  /** Until when it is worth anything, in microseconds since the epoch. */
  until: number;
  /** Whether it may not have been charged yet. */
  readonly isUncertain: boolean;
  /** Whether a server may have made it. */
  isSent: boolean;
}

/**
 * Gives back later what cannot be given back now: until it is done, or the charge is gone by itself. At most
 * 10,000 wait; of more, those that have waited longest stay charged.
 */
export class RefundRetries {
  private waiting: Adjustment[] = [];
  private readonly attempts = new WeakMap<Adjustment, Attempt>();
  private rounds = 0;
  private timer: NodeJS.Timeout | undefined;
  private isRetrying = false;
  /** Whether a server has recovered since the last attempts began. */
  private isDue = false;
  private isClosed = false;

  /**
   * @param adjust sends adjustments of one slot, and gives those back to `add` that fail
   * @param partition parts adjustments by slots
   * @param clock about the server's time
   */
  constructor(
    private readonly adjust: (
      adjustments: readonly Adjustment[],
    ) => Promise<readonly (boolean | undefined)[]>,
    private readonly partition: (
      all: readonly Adjustment[],
    ) => readonly (readonly Adjustment[])[] | undefined,
    private readonly clock: Clock,
  ) {}

  /**
   * Takes over adjustments that were not made. Renewals are not among them: they come again by themselves.
   *
   * @param isUncertain whether there may be nothing to give back yet, or never
   * @param isSent whether a server may have made them
   */
  add(adjustments: readonly Adjustment[], { isUncertain = false, isSent = false } = {}): void {
    if (this.isClosed) return;
    for (const adjustment of adjustments) {
      if (adjustment.kind === 'renew') continue;
      const attempt = this.attempts.get(adjustment) ?? this.begin(adjustment, isUncertain);
      if (isSent && !attempt.isSent) this.noteSent(adjustment, attempt);
      this.waiting.push(adjustment);
    }
    if (this.waiting.length > MOST) this.waiting = this.waiting.slice(-MOST);
    if (this.waiting.length > 0) this.timer ??= this.retryLater();
  }

  /** Tries at once, since a server has recovered. */
  retryNow(): void {
    this.rounds = 0;
    if (this.waiting.length === 0) return;
    this.isDue = true;
    clearTimeout(this.timer);
    void this.retry();
  }

  /** Tries once more. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await Promise.allSettled(this.takeAll().map((chunk) => this.adjust(chunk)));
  }

  private begin(adjustment: Adjustment, isUncertain: boolean): Attempt {
    const attempt = { until: isUncertain ? Infinity : this.endOf(adjustment), isUncertain, isSent: false };
    this.attempts.set(adjustment, attempt);
    return attempt;
  }

  /** A charge that may have been made is repeated only as long as the server remembers its name. */
  private noteSent({ kind }: Adjustment, attempt: Attempt): void {
    attempt.isSent = true;
    const latest = toMicroseconds(this.clock()) + REPEATED_FOR;
    if (kind === 'charge') attempt.until = Math.min(attempt.until, latest);
  }

  private retryLater(): NodeJS.Timeout {
    const pause = Math.min(FIRST_RETRY_MS * 2 ** this.rounds, LATEST_RETRY_MS);
    this.rounds += 1;
    return setTimeout(() => void this.retry(), pause * (0.5 + Math.random() / 2)).unref();
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

  /** One after the other, as a server that comes back has others to serve. */
  private async retryAll(): Promise<void> {
    for (const chunk of this.takeAll()) {
      const adjusted = await this.adjust(chunk).catch(() => undefined); // what failed is waiting again
      if (adjusted)
        this.add(chunk.filter((adjustment, index) => !adjusted[index] && this.isUncertain(adjustment)));
    }
  }

  /** What is worth anything, in parts that are each one call. */
  private takeAll(): readonly (readonly Adjustment[])[] {
    const now = toMicroseconds(this.clock());
    const all = this.waiting.flatMap((adjustment) => this.dueAt(now, adjustment));
    this.waiting = [];
    if (all.length === 0) return [];
    return (this.partition(all) ?? [all]).flatMap(boundedParts);
  }

  /** By its receipt when the server has forgotten the name, unless it may have been made. */
  private dueAt(now: number, adjustment: Adjustment): Adjustment[] {
    const { until, isSent } = this.attempts.get(adjustment)!;
    if (until <= now) return [];
    const { once, ...unnamed } = adjustment;
    if (!once || now < once.until) return [adjustment];
    return isSent ? [] : [unnamed];
  }

  /** Whether a server that has found nothing to release may still run the call that takes it. */
  private isUncertain(adjustment: Adjustment): boolean {
    const attempt = this.attempts.get(adjustment);
    if (!attempt?.isUncertain) return false;
    if (attempt.until === Infinity) {
      const latest = toMicroseconds(this.clock()) + UNCERTAIN_FOR;
      attempt.until = Math.min(this.endOf(adjustment), latest);
    }
    return true;
  }

  /** Until when it is worth anything: the receipt states it; a lease lasts as long as its rule states. */
  private endOf({ kind, receipt, parameters }: Adjustment): number {
    const now = toMicroseconds(this.clock());
    const isStated = typeof receipt === 'number' && receipt > 0;
    // Work that lasted longer than its reservation is charged all the same.
    if (isStated && (kind !== 'charge' || receipt > now)) return receipt;
    return now + (parameters['lease'] ?? REPEATED_FOR);
  }
}
