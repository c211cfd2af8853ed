import type { Numbers } from '../definition.js';
import { permitsIn, spanOf, type Span } from '../rate.js';

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

/** How many whole tokens come within a span; 0 for a negative one. */
export function tokensIn(span: Span, { limit, window, interval }: Refill): number {
  if (interval === 0) return permitsIn(span, limit, window);
  return Math.max(0, Math.floor(span.whole / window)) * limit;
}

/** The span in which `tokens` come. */
export function spanFor(tokens: number, { limit, window, interval }: Refill): Span {
  if (interval === 0) return spanOf(tokens, limit, window);
  return { whole: Math.ceil(tokens / limit) * window, part: 0 };
}

/** The instant at which `missing` more tokens have come. */
export function instantOf(missing: number, { instant, part }: Credited, refill: Refill): number {
  if (missing <= 0) return instant;
  const span = spanFor(missing, refill);
  return instant + span.whole + Math.ceil((part + span.part) / refill.limit);
}

/** How long until `missing` more tokens have come. */
export function waitFor(missing: number, now: number, credited: Credited, refill: Refill): number {
  if (missing <= 0) return 0;
  return instantOf(missing, credited, refill) - now;
}

/** The most tokens that can come in a time of microseconds that has been rounded up to whole ones. */
export function mostIn(time: number, { limit, window, interval }: Refill): number {
  const roundedUp = window % limit === 0 ? 0 : 1;
  if (interval === 0) return permitsIn({ whole: time - roundedUp, part: 0 }, limit, window);
  return Math.ceil(time / window) * limit;
}
