import type { Next } from '../../contracts/algorithm.js';
import { NEVER, type Variant } from '../definition.js';
import { LONGEST, minus, plus, roundUp, spanOf, type Span } from '../rate.js';
import type { TokenBucketOptions } from './token-bucket-options.js';
import { warmUpTerms, type WarmUpParameter } from './warm-up-options.js';
import lua from './warm-up.lua.js';

export interface WarmUpState {
  /** The instant at which the next hit may go, in microseconds. */
  readonly nextFree: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
  /** How cold it is then: from 0 to the warm-up, in microseconds. */
  readonly stored: number;
}

/** The state as it is now. */
interface Current {
  /** Since the epoch. */
  readonly nextFree: Span;
  readonly stored: number;
  /** How long until the next hit may go. */
  readonly busy: number;
}

function read(state: WarmUpState | undefined, now: number, limit: number, warmUp: number): Current {
  if (!state) return { nextFree: { whole: now, part: 0 }, stored: warmUp, busy: 0 };
  const nextFree = { whole: state.nextFree, part: Math.min(state.part, limit - 1) };
  const stored = Math.min(state.stored, warmUp);

  const busy = roundUp(nextFree) - now;
  if (busy > 0) return { nextFree, stored, busy };
  return { nextFree: { whole: now, part: 0 }, stored: Math.min(warmUp, stored - busy), busy: 0 };
}

/**
 * How much longer than at the full rate a hit takes that uses up `spent` of what is stored: the time
 * above the line of the full rate, which the upper half of what is stored rises from.
 */
function surchargeOf(stored: number, spent: number, warmUp: number): number {
  const above = Math.max(0, stored - warmUp / 2);
  const used = Math.min(above, spent);
  return Math.ceil((2 * used * (2 * above - used)) / warmUp);
}

/** The state, and how long until it is as cold as a fresh key. */
function write(now: number, nextFree: Span, stored: number, warmUp: number): Next<WarmUpState> {
  const busy = roundUp(nextFree) - now;
  const state = { nextFree: nextFree.whole, part: nextFree.part, stored };
  return { state, expiresAfter: busy + warmUp - stored };
}

/**
 * The token bucket that warms up: lets permits through at the rate, and up to three times as slowly
 * while it is cold. A hit goes on at once if nothing is under way, and the next one waits for what it
 * took.
 *
 * Guava's SmoothWarmingUp with its cold factor of 3, told in time instead of permits. With
 * T = window / limit, a stored permit is a stored T: `stored` grows with idle time up to the warm-up,
 * as Guava's permits do up to warmUp / T. A permit takes T from the lower half of it, and from the
 * upper half T x (1 + 4 x (stored - warmUp / 2) / warmUp), which rises from T to 3 T. A hit takes
 * the integral under that line over what it uses up.
 *
 * See docs/adr/0010-warm-up.md.
 */
export const warmUp: Variant<TokenBucketOptions, WarmUpState, WarmUpParameter> & { readonly queues: true } = {
  name: 'token-bucket-warm-up',
  ...warmUpTerms,
  queues: true,
  lua,

  step(state, now, cost, { limit, window, warmUp }, patience = 0) {
    if (limit === 0) return NEVER;

    const { nextFree, stored, busy } = read(state, now, limit, warmUp);
    const remaining = busy === 0 ? limit : 0;
    if (cost === 0) {
      const unchanged = write(now, nextFree, stored, warmUp);
      return { allowed: true, remaining, retryAfter: 0, resetAfter: busy, delay: 0, ...unchanged };
    }
    if (patience < Infinity && (cost > limit || busy > patience)) {
      const retryAfter = cost > limit ? null : busy - patience;
      return { allowed: false, remaining, retryAfter, resetAfter: busy, delay: 0 };
    }

    const taken = spanOf(cost, limit, window);
    const spent = Math.min(stored, roundUp(taken));
    const busyFor = { whole: taken.whole + surchargeOf(stored, spent, warmUp), part: taken.part };
    const sum = plus(nextFree, busyFor, limit);
    const free = sum.whole - now < LONGEST ? sum : { whole: now + LONGEST, part: 0 };
    const resetAfter = roundUp(free) - now;
    const next = write(now, free, stored - spent, warmUp);
    return { allowed: true, remaining: 0, retryAfter: 0, resetAfter, delay: busy, ...next };
  },

  /**
   * A place is given back only while nobody waits behind it: who does has been told when to go. The
   * warmth that it has brought stays, with the time that the cold has cost.
   */
  refund(state, now, cost, { limit, window, warmUp }, receipt) {
    if (limit === 0) return undefined;
    const { nextFree, stored, busy } = read(state, now, limit, warmUp);
    if (now + busy !== receipt || receipt <= now) return undefined;

    const back = spanOf(cost, limit, window);
    const free = minus(nextFree, back, limit);
    return write(now, free.whole < now ? { whole: now, part: 0 } : free, stored, warmUp);
  },
};
