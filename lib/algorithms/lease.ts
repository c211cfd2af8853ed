import { readCount } from '../contracts/count.js';
import { durationFix, type Duration } from '../contracts/duration.js';
import type { OptionCheck, TakenAhead } from './definition.js';
import { isFields } from '../contracts/fields.js';
import { durationOption, integer } from './option-checks.js';
import { roundUp, spanOf } from './rate.js';

/** Permits that a process takes ahead from the store, to decide by itself while it has them. */
export interface Lease {
  /** How many at once: an integer from 2 to 1,000,000, at most what can be had at once. */
  readonly permits: number;
  /**
   * How long they are kept; what is left then is given back.
   * @default '1s'
   */
  readonly ttl?: Duration;
}

/** The options of an algorithm whose permits may be taken ahead. */
export interface Leasable {
  /**
   * Takes permits ahead, for keys that are hit very often: a process asks the store once for many hits. Never
   * admits more than without; up to `permits` a process may lie unused for `ttl`.
   * @default every hit asks the store
   */
  readonly lease?: Lease;
}

const PERMITS = integer(2, 1e6);

/** `lease`, as the algorithms take it that know by when a permit must be used. */
export const leaseOption: OptionCheck = {
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
