import type { Numbers } from '../definition.js';
import { isLonger, isSameRate, LONGEST, minus, permitsIn, plus, spanOf, type Span } from '../rate.js';

/**
 * Adds `limit` tokens per `window` microseconds: one by one and evenly (`interval` 0), or all at once after each
 * whole window (`interval` 1).
 */
export type Refill = Numbers<'limit' | 'window' | 'interval'>;

/** The instant up to which tokens are credited. */
export interface Credited {
  /** Microseconds since the epoch. */
  readonly instant: number;
  /** Fraction of the instant, in units of 1/limit microsecond. */
  readonly part: number;
}

/** Whether two refills add tokens at the same times. */
export function isSameRefill(one: Refill, other: Refill): boolean {
  if (one === other) return true;
  if (one.interval !== other.interval) return false;
  if (one.interval === 0) return isSameRate(one, other);
  return one.limit === other.limit && one.window === other.window;
}

/** Returns how many whole tokens are added within a span; 0 for a negative span. */
function tokensIn(span: Span, { limit, window, interval }: Refill): number {
  if (interval === 0) return permitsIn(span, limit, window);
  return Math.max(0, Math.floor(span.whole / window)) * limit;
}

/** Returns the span in which `tokens` are added. */
function spanFor(tokens: number, { limit, window, interval }: Refill): Span {
  if (interval === 0) return spanOf(tokens, limit, window);
  return { whole: Math.min(LONGEST, Math.ceil(tokens / limit) * window), part: 0 };
}

/** Returns the instant at which `missing` more tokens have been added. */
export function instantOf(missing: number, { instant, part }: Credited, refill: Refill): number {
  if (missing <= 0) return instant;
  const span = spanFor(missing, refill);
  return instant + span.whole + Math.ceil((part + span.part) / refill.limit);
}

/** Credits the tokens added up to `now`. Returns how many are still missing, and up to when tokens are credited. */
export function creditUpTo(
  now: number,
  missing: number,
  { instant, part }: Credited,
  refill: Refill,
): { readonly missing: number; readonly credited: Credited } {
  const elapsed = minus({ whole: now - instant, part: 0 }, { whole: 0, part }, refill.limit);
  const earned = tokensIn(elapsed, refill);
  if (earned >= missing) return { missing: 0, credited: { instant: Math.max(instant, now), part: 0 } };
  const credited = plus({ whole: instant, part }, spanFor(earned, refill), refill.limit);
  return { missing: missing - earned, credited: { instant: credited.whole, part: credited.part } };
}

/**
 * Refunds tokens, at most those that are added within `time` (microseconds, rounded up). Returns how many are still
 * missing, and up to when tokens are credited. With continuous refill the maximum is exact, since a fraction of a
 * token is refunded as time.
 */
export function refundTokens(
  tokens: number,
  time: number,
  now: number,
  missing: number,
  credited: Credited,
  refill: Refill,
): { readonly missing: number; readonly credited: Credited } {
  const { limit, window, interval } = refill;
  if (interval === 1) {
    return { missing: missing - Math.min(tokens, Math.ceil(time / window) * limit), credited };
  }
  const left = window % limit === 0 ? time : time - 1;
  if (!isLonger(spanFor(tokens, refill), { whole: left, part: 0 })) {
    return { missing: missing - tokens, credited };
  }
  return creditUpTo(now, missing, { ...credited, instant: credited.instant - left }, refill);
}
