import { durationFix, parseDuration, type Duration } from '../contracts/duration.js';
import { integer, type OptionCheck } from '../contracts/options.js';
import { perProcess, type Example, type Quota } from './definition.js';
import { NO_TIME, roundUp, spanOf } from './rate.js';

const DAY = 86_400e6;
const LONGEST_REFILL_DAYS = 3660;

/** A capacity: a number of permits, or the time in which the limit adds them. */
export type Capacity = number | Duration;

/** The option of algorithms whose waiting requests can go into debt. */
export interface Overdrawable {
  /**
   * Whether a request that waits, such as one of `acquire()`, may cost more than the burst. It waits until all permits are
   * available, and takes the missing ones as debt, which later requests wait for; the rate stays that of the rule. Requests
   * that do not wait are denied.
   *
   * @default false
   */
  readonly overdraft?: boolean;
}

/** Checks a capacity of at least `least` permits. */
export function capacityOption(least: number): OptionCheck {
  const permits = integer(least, 1e9);
  return {
    ...permits,
    allowed: `${permits.allowed}, or the time in which the limit adds them, such as "10s"`,
    accepts: (value) => permits.accepts(value) || parseDuration(value) !== undefined,
    fix: (value) => (typeof value === 'string' ? durationFix(value) : undefined),
  };
}

/** The check of the option `burst`. */
export const burstOption: OptionCheck = capacityOption(1);

/** Returns the permits of a capacity, by default the limit; for a duration those that the limit adds in it, at least 1. */
export function permitsOf(capacity: Capacity | undefined, { limit, window }: Quota): number {
  if (capacity === undefined) return limit;
  if (typeof capacity === 'number') return capacity;
  return Math.max(1, Math.floor((limit * parseDuration(capacity)!) / window));
}

/** Returns the time of a capacity in microseconds: its duration, or the time in which the limit adds it. */
export function timeOf(capacity: Capacity | undefined, { limit, window }: Quota): number {
  if (capacity === undefined || limit === 0) return window;
  return typeof capacity === 'number' ? roundUp(spanOf(capacity, limit, window)) : parseDuration(capacity)!;
}

/** Returns the parameters of a rate with a burst, which is full after some time. */
export function paceOf(rule: Quota & Overdrawable & { readonly burst?: Capacity }) {
  const { limit, window, overdraft = false } = rule;
  const burst = permitsOf(rule.burst, rule);
  const { whole: full, part: fullPart } = limit > 0 ? spanOf(burst, limit, window) : NO_TIME;
  const time = timeOf(rule.burst, rule);
  return { limit, window, burst, full, fullPart, time, overdraft: Number(overdraft) };
}

/** Returns the part of a key for the time of a capacity; none if that is the window. */
export function timePart(capacity: Capacity | undefined, rule: Quota): readonly number[] {
  const time = timeOf(capacity, rule);
  return time === rule.window ? [] : [time];
}

/** Returns the capacity of one of several processes. A duration stays, since the limit is divided. */
export function capacityOf(capacity: Capacity, processes: number): Capacity {
  return typeof capacity === 'number' ? perProcess(capacity, processes) : capacity;
}

/**
 * Returns what is wrong with a rate; `undefined` if nothing is. `limit` x `burst` must be at most 2^53 - 1, so that
 * the arithmetic stays exact, and a burst must be refilled within 3660 days.
 */
export function checkRate(rule: Quota & { readonly burst?: Capacity }): string | undefined {
  const { limit, window } = rule;
  const permits = permitsOf(rule.burst, rule);
  if (limit * permits > Number.MAX_SAFE_INTEGER) {
    const isEqual = permits === limit;
    const most = isEqual ? Math.sqrt(Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER / permits;
    const burst = isEqual ? 'burst equal to limit' : `a burst of ${permits}`;
    return `limit ${limit} is too large: the maximum with ${burst} is ${Math.floor(most)}`;
  }
  const refill = (permits * window) / limit;
  if (refill > LONGEST_REFILL_DAYS * DAY) {
    return `a burst of ${permits} takes ${Math.floor(refill / DAY)} days to come back; allowed: at most ${LONGEST_REFILL_DAYS}`;
  }
  return undefined;
}

/** Example rules of the algorithms with a burst and an overdraft. */
export const BURST_EXAMPLES: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  {
    variant: 'with a burst',
    rule: ({ limit, windowMs }) => ({ limit: 1, window: `${Math.ceil(windowMs / limit)}ms`, burst: limit }),
  },
  {
    variant: 'with a burst of half the window',
    rule: ({ windowMs }) => ({ burst: `${Math.ceil(windowMs / 2)}ms` }),
    allAtOnce: false,
  },
  { variant: 'with an overdraft', rule: () => ({ overdraft: true }) },
];
