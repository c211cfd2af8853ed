import type { Next } from '../../contracts/algorithm.js';
import { parseDuration, type Duration } from '../../contracts/duration.js';
import { checkRate, type Overdrawable } from '../burst.js';
import { allow, deny, NEVER, type Numbers, type Variant } from '../definition.js';
import { LONGEST, minus, plus, roundUp, spanOf, type Span } from '../rate.js';
import { setBack } from '../../contracts/clock.js';
import type { BucketOptions } from './bucket.js';

/** The options of a token bucket that a warm-up reads, or that it excludes. */
interface WarmUpOptions extends BucketOptions, Overdrawable {
  readonly warmUp?: Duration;
  readonly refill?: 'continuous' | 'interval';
}

type Parameters = Numbers<'limit' | 'window' | 'warmUp'>;

export interface WarmUpState {
  /** The instant at which the next request may proceed, in microseconds since the epoch. */
  readonly nextFree: number;
  /** Fraction of the instant, in units of 1/`limit` microsecond. */
  readonly part: number;
  /** The limit with which the fraction was calculated. */
  readonly limit: number;
  /** How cold the bucket is at that instant: from 0 (warm) to the warm-up (cold), in microseconds. */
  readonly stored: number;
  /** When the state was written, in microseconds since the epoch. */
  readonly written: number;
}

/** Returns the state at the current time: `busy` is the time until the next request may proceed. */
function read(state: WarmUpState | undefined, now: number, limit: number, warmUp: number) {
  const fresh = { nextFree: { whole: now, part: 0 }, stored: warmUp, busy: 0, written: now };
  if (!state) return fresh;
  const by = setBack(state.written, now);
  const nextFree = instantOf(state, by, limit);
  const written = Math.max(now, state.written - by);

  const busy = roundUp(nextFree) - now;
  if (busy > 0) return { nextFree, stored: state.stored, busy, written };
  return { ...fresh, stored: Math.min(warmUp, state.stored - busy), written };
}

/** Returns the instant of a state that is moved back. A fraction of another limit is rounded up. */
function instantOf({ nextFree, part, limit }: WarmUpState, by: number, own: number): Span {
  if (part === 0 || limit === own) return { whole: nextFree - by, part };
  return { whole: nextFree - by + 1, part: 0 };
}

/**
 * Returns how much longer than at the full rate a request takes that uses up `spent` of `stored`: the integral of the
 * time per permit above that of the full rate, which rises linearly over the upper half of `stored`.
 */
function surchargeOf(stored: number, spent: number, warmUp: number): number {
  const above = Math.max(0, stored - warmUp / 2);
  const used = Math.min(above, spent);
  return Math.ceil((2 * used * (2 * above - used)) / warmUp);
}

/** Returns the state, which expires when it is as cold as a fresh key. */
function write(
  now: number,
  { nextFree, stored, written }: Omit<ReturnType<typeof read>, 'busy'>,
  { limit, warmUp }: Parameters,
): Next<WarmUpState> {
  const busy = roundUp(nextFree) - now;
  const state = { nextFree: nextFree.whole, part: nextFree.part, limit, stored, written };
  return { state, expiresAfter: busy + warmUp - stored };
}

/**
 * The token bucket with a warm-up: allows permits at the rate, and up to three times as slowly while it is cold. A
 * request proceeds at once if the bucket is idle, and the next request waits for the time that this one takes.
 *
 * Guava's SmoothWarmingUp with its cold factor of 3, expressed in time instead of permits. With T = window / limit, a
 * stored permit is a stored time T: `stored` grows with idle time up to the warm-up, as Guava's permits do up to
 * warmUp / T. A permit takes T in the lower half of `stored`, and T x (1 + 4 x (stored - warmUp / 2) / warmUp) in the
 * upper half, which rises from T to 3 T. A request takes the integral of that function over the part of `stored` that
 * it uses up.
 *
 * See docs/adr/0010-warm-up.md.
 */
export const warmUp: Variant<WarmUpOptions, WarmUpState, keyof Parameters> & { readonly queues: true } = {
  name: 'token-bucket-warm-up',
  version: 2,
  parameters: ['limit', 'window', 'warmUp'],
  check(rule) {
    const field = (['burst', 'refill', 'initial', 'overdraft'] as const).find(
      (name) => rule[name] !== undefined,
    );
    if (field !== undefined) {
      return `${field} is ${JSON.stringify(rule[field])}; allowed: none with warmUp, which stores time instead of tokens`;
    }
    const { limit, window } = rule;
    if (limit > window) {
      return `limit is ${limit}; allowed with warmUp: at most one a microsecond of the window, ${window}`;
    }
    return checkRate({ limit, window });
  },
  keyParts: ({ warmUp }) => [parseDuration(warmUp)!],
  compile: ({ limit, window, warmUp }) => ({ limit, window, warmUp: parseDuration(warmUp)! }),
  queues: true,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, warmUp } = parameters;
    if (limit === 0) return NEVER;

    const current = read(state, now, limit, warmUp);
    const { nextFree, stored, busy, written } = current;
    const remaining = busy === 0 ? limit : 0;
    if (cost === 0) {
      const unchanged = write(now, current, parameters);
      return allow(remaining, 0, busy, unchanged.state, unchanged.expiresAfter);
    }
    if (maxWait < Infinity && (cost > limit || busy > maxWait)) {
      return deny(remaining, cost > limit ? null : busy - maxWait, busy);
    }

    const taken = spanOf(cost, limit, window);
    const spent = Math.min(stored, roundUp(taken));
    const busyFor = { whole: taken.whole + surchargeOf(stored, spent, warmUp), part: taken.part };
    const sum = plus(nextFree, busyFor, limit);
    const free = sum.whole - now < LONGEST ? sum : { whole: now + LONGEST, part: 0 };
    const resetAfter = roundUp(free) - now;
    const next = write(now, { nextFree: free, stored: stored - spent, written }, parameters);
    return allow(0, busy, resetAfter, next.state, next.expiresAfter);
  },

  /**
   * Refunds only the last charge: the delays of later requests have been returned already. The part of `stored` that
   * was used up, and the additional time for it, are not refunded.
   */
  refund(state, now, cost, parameters, receipt) {
    const { limit, window, warmUp } = parameters;
    if (limit === 0) return undefined;
    const { nextFree, stored, busy, written } = read(state, now, limit, warmUp);
    if (now + busy !== receipt || receipt <= now) return undefined;

    const back = spanOf(cost, limit, window);
    const free = minus(nextFree, back, limit);
    const least = { whole: now, part: 0 };
    return write(now, { nextFree: free.whole < now ? least : free, stored, written }, parameters);
  },

  isAhead: ({ written }, now) => setBack(written, now) > 0,
};
