import type { Numbers } from '../definition.js';
import { isLonger, isSameRate, LONGEST, minus, permitsIn, plus, spanOf, type Span } from '../rate.js';

/**
 * How tokens come: `limit` of them a `window` of microseconds, one by one at an even pace, or all at
 * once after each whole window (`interval`: 1).
 */
export type Refill = Numbers<'limit' | 'window' | 'interval'>;

/** The instant up to which tokens have been credited. */
export interface Credited {
  /** Microseconds since the epoch. */
  readonly instant: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

/** Whether tokens come alike. */
export function isSameRefill(one: Refill, other: Refill): boolean {
  if (one === other) return true;
  if (one.interval !== other.interval) return false;
  if (one.interval === 0) return isSameRate(one, other);
  return one.limit === other.limit && one.window === other.window;
}

/** How many whole tokens come within a span; 0 for a negative one. */
export function tokensIn(span: Span, { limit, window, interval }: Refill): number {
  if (interval === 0) return permitsIn(span, limit, window);
  return Math.max(0, Math.floor(span.whole / window)) * limit;
}

/** The span in which `tokens` come. */
export function spanFor(tokens: number, { limit, window, interval }: Refill): Span {
  if (interval === 0) return spanOf(tokens, limit, window);
  return { whole: Math.min(LONGEST, Math.ceil(tokens / limit) * window), part: 0 };
}

/** The instant at which `missing` more tokens have come. */
export function instantOf(missing: number, { instant, part }: Credited, refill: Refill): number {
  if (missing <= 0) return instant;
  const span = spanFor(missing, refill);
  return instant + span.whole + Math.ceil((part + span.part) / refill.limit);
}

/** How many tokens are still missing at an instant, and up to when those that have come are credited. */
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
 * The bucket after a refund: how many tokens are missing, and the instant up to which it is credited. The refund is
 * limited to the tokens that come within a time (microseconds, rounded up). With continuous refill it is exact,
 * since the rest of a token counts as time.
 */
export function giveBack(
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
