import type { Next } from '../../contracts/algorithm.js';
import { parseDuration } from '../../contracts/duration.js';
import { checkRate } from '../burst.js';
import { NEVER, type Variant } from '../definition.js';
import { spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import type { TokenBucketOptions } from './token-bucket-options.js';
import lua from './warm-up.lua.js';

export interface WarmUpState {
  /** The instant at which the next hit may go, in microseconds. */
  readonly nextFree: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
  /** How cold it is then: from 0 to the warm-up, in microseconds. */
  readonly stored: number;
}

/** The state as it is now, and how long until the next hit may go. */
interface Current extends WarmUpState {
  readonly busy: number;
}

function read(state: WarmUpState | undefined, now: number, limit: number, warmUp: number): Current {
  if (!state) return { nextFree: now, part: 0, stored: warmUp, busy: 0 };
  const { nextFree } = state;
  const part = Math.min(state.part, limit - 1);
  const stored = Math.min(state.stored, warmUp);

  const busy = nextFree - now + (part > 0 ? 1 : 0);
  if (busy > 0) return { nextFree, part, stored, busy };
  return { nextFree: now, part: 0, stored: Math.min(warmUp, stored - busy), busy: 0 };
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
function write(
  now: number,
  nextFree: number,
  part: number,
  stored: number,
  warmUp: number,
): Next<WarmUpState> {
  const busy = nextFree - now + (part > 0 ? 1 : 0);
  return { state: { nextFree, part, stored }, expiresAfter: busy + warmUp - stored };
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
export const warmUp: Variant<TokenBucketOptions, WarmUpState, 'limit' | 'window' | 'warmUp'> & {
  readonly queues: true;
} = {
  name: 'token-bucket-warm-up',
  parameters: ['limit', 'window', 'warmUp'],
  check(rule) {
    const field = (['burst', 'refill', 'initial'] as const).find((name) => rule[name] !== undefined);
    if (field !== undefined) {
      return `${field} is ${JSON.stringify(rule[field])}; allowed: none with warmUp, which stores time instead of tokens`;
    }
    const { limit, window } = rule;
    if (limit > window) {
      return `limit is ${limit}; allowed with warmUp: at most one a microsecond of the window, ${window}`;
    }
    return checkRate({ limit, window });
  },
  compile: ({ limit, window, warmUp }) => ({ limit, window, warmUp: parseDuration(warmUp)! }),
  queues: true,
  prelude: rateLua,
  lua,

  step(state, now, cost, { limit, window, warmUp }, patience = 0) {
    if (limit === 0) return NEVER;

    const { nextFree, part, stored, busy } = read(state, now, limit, warmUp);
    const remaining = busy === 0 ? limit : 0;
    if (cost === 0) {
      const unchanged = write(now, nextFree, part, stored, warmUp);
      return { allowed: true, remaining, retryAfter: 0, resetAfter: busy, delay: 0, ...unchanged };
    }
    if (patience < Infinity && (cost > limit || busy > patience)) {
      const retryAfter = cost > limit ? null : busy;
      return { allowed: false, remaining, retryAfter, resetAfter: busy, delay: 0 };
    }

    const taken = spanOf(cost, limit, window);
    const spent = Math.min(stored, taken.part > 0 ? taken.whole + 1 : taken.whole);
    let free = nextFree + taken.whole + surchargeOf(stored, spent, warmUp);
    let freePart = part + taken.part;
    if (freePart >= limit) {
      free += 1;
      freePart -= limit;
    }
    const resetAfter = free - now + (freePart > 0 ? 1 : 0);
    const next = write(now, free, freePart, stored - spent, warmUp);
    return { allowed: true, remaining: 0, retryAfter: 0, resetAfter, delay: busy, ...next };
  },

  /**
   * A place is given back only while nobody waits behind it: who does has been told when to go. The
   * warmth that it has brought stays, with the time that the cold has cost.
   */
  refund(state, now, cost, { limit, window, warmUp }, receipt) {
    if (limit === 0) return undefined;
    const { nextFree, part, stored, busy } = read(state, now, limit, warmUp);
    if (now + busy !== receipt || receipt <= now) return undefined;

    const back = spanOf(cost, limit, window);
    let free = nextFree - back.whole;
    let freePart = part - back.part;
    if (freePart < 0) {
      free -= 1;
      freePart += limit;
    }
    return free < now ? write(now, now, 0, stored, warmUp) : write(now, free, freePart, stored, warmUp);
  },
};
