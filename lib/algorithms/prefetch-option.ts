import { readFields, type OptionCheck, durationOption, integer } from '../contracts/options.js';
import { durationFix, type Duration } from '../contracts/duration.js';
import type { TakenAhead } from './definition.js';
import { isFields } from '../contracts/fields.js';
import { roundUp, spanOf } from './rate.js';

/** Prefetched permits: a process takes them from Redis ahead of requests, and decides alone until they are used up. */
export interface Prefetch {
  /** Permits to take ahead: an integer from 2 to 1,000,000, at most the limit or burst. */
  readonly permits: number;
  /**
   * How long the permits may be used. After that, unused permits are refunded.
   * @default '1s'
   */
  readonly ttl?: Duration;
}

/** The option `prefetch` of the algorithms whose permits can be prefetched. */
export interface Prefetchable {
  /**
   * Prefetches permits for keys with very many requests: one call to Redis serves many of them. Never allows more
   * than the limit. It may allow less, since each process may hold up to `permits` unused permits for `ttl`.
   * @default no prefetch
   */
  readonly prefetch?: Prefetch;
}

const PERMITS = integer(2, 1e6);

/** The check of the option `prefetch`. */
export const prefetchOption: OptionCheck = {
  allowed: `{ permits: ${PERMITS.allowed}, ttl: ${durationOption.allowed} }`,
  accepts(value) {
    if (!isFields(value)) return false;
    const { permits, ttl, ...others } = value;
    const isTtl = ttl === undefined || durationOption.accepts(ttl);
    return PERMITS.accepts(permits) && isTtl && Object.keys(others).length === 0;
  },
  read: (value) => (isFields(value) ? readFields(value, { permits: PERMITS }) : value),
  fix(value) {
    if (!isFields(value) || durationOption.accepts(value['ttl'])) return undefined;
    const fix = durationFix(value['ttl']);
    return fix && `${fix} for its ttl`;
  },
};

/** `spendBy` for permits that count only in the window of their charge: they must be used before it ends. */
export function endOfWindow(_nth: number, { now, resetAfter }: TakenAhead): number {
  return now + resetAfter - 1;
}

/**
 * `spendBy` for permits that become available evenly. Each permit has a slot of window / limit, which ends when the
 * permit is available again. A permit used before its slot begins counts as if it had been charged at that time.
 */
export function slotOf(
  nth: number,
  { permits, now, resetAfter }: TakenAhead,
  { limit, window }: { readonly limit: number; readonly window: number },
): number {
  return now + resetAfter - 1 - roundUp(spanOf(permits - nth + 1, limit, window));
}
