import { readCount } from '../contracts/count.js';
import { durationFix, type Duration } from '../contracts/duration.js';
import type { OptionCheck, TakenAhead } from './definition.js';
import { isFields } from '../contracts/fields.js';
import { durationOption, integer } from './option-checks.js';
import { roundUp, spanOf } from './rate.js';

/** Prefetched permits: a process takes them ahead from Redis and decides without Redis while it has some. */
export interface Prefetch {
  /** Permits to take ahead: an integer from 2 to 1,000,000, at most the limit or burst. */
  readonly permits: number;
  /**
   * How long the permits may be used. Unused permits are refunded after it.
   * @default '1s'
   */
  readonly ttl?: Duration;
}

/** The option of an algorithm whose permits can be prefetched. */
export interface Prefetchable {
  /**
   * Prefetches permits for keys with very many requests: one call to Redis serves many of them. Never allows more
   * than the limit. It may allow less, since each process may hold up to `permits` unused permits for `ttl`.
   * @default no prefetch
   */
  readonly prefetch?: Prefetch;
}

const PERMITS = integer(2, 1e6);

/** `prefetch`, as the algorithms take it that know by when a permit must be used. */
export const prefetchOption: OptionCheck = {
  allowed: `{ permits: ${PERMITS.allowed}, ttl: ${durationOption.allowed} }`,
  accepts(value) {
    if (!isFields(value)) return false;
    const { permits, ttl, ...others } = value;
    const isTtl = ttl === undefined || durationOption.accepts(ttl);
    return PERMITS.accepts(permits) && isTtl && Object.keys(others).length === 0;
  },
  read: (value) =>
    isFields(value) && 'permits' in value ? { ...value, permits: readCount(value['permits']) } : value,
  fix(value) {
    const fix = isFields(value) ? durationFix(value['ttl']) : undefined;
    return fix && `${fix} for its ttl`;
  },
};

/** Where permits count by the window they are charged in, they must be used before it ends. */
export function endOfWindow(_nth: number, { now, resetAfter }: TakenAhead): number {
  return now + resetAfter - 1;
}

/** Where that window counts for another one after it has ended. */
export function endOfFirstWindow(
  _nth: number,
  { now, resetAfter }: TakenAhead,
  { window }: { readonly window: number },
): number {
  return now + resetAfter - window - 1;
}

/**
 * Where permits come back evenly, each has a slot of window / limit, one behind the other, which ends when it
 * has come back: used before its slot begins, it is as if it had been charged only then.
 */
export function slotOf(
  nth: number,
  { permits, now, resetAfter }: TakenAhead,
  { limit, window }: { readonly limit: number; readonly window: number },
): number {
  return now + resetAfter - 1 - roundUp(spanOf(permits - nth + 1, limit, window));
}
