import { toMicroseconds, type Clock } from '../../contracts/clock.js';
import type { Amendment } from '../../contracts/store.js';
import { boundedParts } from './bounded-calls.js';
import { RECEIPT_KEPT_FOR } from './call.js';

/** What a server answers that has executed nothing, and may do so later. */
const NOT_NOW =
  /^(Too many Cluster redirections\b.*|TRYAGAIN|LOADING|BUSY|READONLY|OOM|MISCONF|NOAUTH|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)\b/;

/** What ioredis says of a command that it has not written. */
const NOT_WRITTEN = ' enableOfflineQueue options is false';

const MOST = 10_000;
/** For how long a call whose reply is lost may still be run by a server that answers. */
const UNCERTAIN_FOR = 60e6;
const FIRST_RETRY_MS = 50;
const LATEST_RETRY_MS = 1000;

/** Whether a call has certainly changed nothing, so that it can be sent again. */
export function hasDoneNothing(error: unknown): boolean {
  return error instanceof Error && (NOT_NOW.test(error.message) || error.message.endsWith(NOT_WRITTEN));
}

/**
 * Gives back later what cannot be given back now: until it is done, or the charge is gone by itself. At most
 * 10,000 wait; of more, those that have waited longest stay charged.
 */
export class RefundRetries {
  private waiting: Amendment[] = [];
  /** Until when each is worth anything, in microseconds since the epoch. */
  private readonly ends = new WeakMap<Amendment, number>();
  /** What may not have been charged yet. */
  private readonly uncertain = new WeakSet<Amendment>();
  private rounds = 0;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param amend sends amendments of one slot, and gives those back to `add` that fail
   * @param partition parts amendments by slots
   * @param clock about the server's time
   */
  constructor(
    private readonly amend: (amendments: readonly Amendment[]) => Promise<readonly boolean[]>,
    private readonly partition: (all: readonly Amendment[]) => readonly (readonly Amendment[])[] | undefined,
    private readonly clock: Clock,
  ) {}

  /**
   * Takes over amendments that were not made. Renewals are not among them: they come again by themselves.
   *
   * @param isCertain whether there is something to give back; if not, the server may find nothing at first
   */
  add(amendments: readonly Amendment[], isCertain = true): void {
    if (this.isClosed) return;
    for (const amendment of amendments) {
      if (amendment.kind === 'renew') continue;
      if (!this.ends.has(amendment)) {
        if (!isCertain) this.uncertain.add(amendment);
        this.ends.set(amendment, isCertain ? this.endOf(amendment) : Infinity);
      }
      this.waiting.push(amendment);
    }
    if (this.waiting.length > MOST) this.waiting = this.waiting.slice(-MOST);
    if (this.waiting.length > 0) this.timer ??= this.retryLater();
  }

  /** Tries once more. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await Promise.allSettled(this.takeAll().map((chunk) => this.amend(chunk)));
  }

  private retryLater(): NodeJS.Timeout {
    const pause = Math.min(FIRST_RETRY_MS * 2 ** this.rounds, LATEST_RETRY_MS);
    this.rounds += 1;
    return setTimeout(() => void this.retry(), pause * (0.5 + Math.random() / 2)).unref();
  }

  private async retry(): Promise<void> {
    // One after the other, as a server that comes back has others to serve.
    for (const chunk of this.takeAll()) {
      const amended = await this.amend(chunk).catch(() => undefined); // what failed is waiting again
      if (amended)
        this.add(chunk.filter((amendment, index) => !amended[index] && this.isUncertain(amendment)));
    }
    this.timer = undefined;
    if (this.waiting.length === 0) this.rounds = 0;
    else if (!this.isClosed) this.timer = this.retryLater();
  }

  /** What is worth anything, in parts that are each one call. */
  private takeAll(): readonly (readonly Amendment[])[] {
    const now = toMicroseconds(this.clock());
    const all = this.waiting.filter((amendment) => this.ends.get(amendment)! > now);
    this.waiting = [];
    if (all.length === 0) return [];
    return (this.partition(all) ?? [all]).flatMap(boundedParts);
  }

  /** Whether a server that has found nothing to release may still run the call that takes it. */
  private isUncertain(amendment: Amendment): boolean {
    if (!this.uncertain.has(amendment)) return false;
    if (this.ends.get(amendment) === Infinity) {
      const latest = toMicroseconds(this.clock()) + UNCERTAIN_FOR;
      this.ends.set(amendment, Math.min(this.endOf(amendment), latest));
    }
    return true;
  }

  /** Until when it can be refunded: the receipt states it; a lease lasts as long as its rule states. */
  private endOf({ receipt, parameters }: Amendment): number {
    if (typeof receipt === 'number') return receipt;
    return toMicroseconds(this.clock()) + (parameters['lease'] ?? RECEIPT_KEPT_FOR);
  }
}
