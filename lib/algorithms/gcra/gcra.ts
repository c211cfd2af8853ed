import type { Next } from '../../contracts/algorithm.js';
import { burstOption, checkRate } from '../burst.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { permitsIn, spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import lua from './gcra.lua.js';

/** Options of `algorithm: 'gcra'`. */
export interface GcraOptions {
  /**
   * Permits that may come at once after a pause, 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
}

export interface GcraState {
  /** Theoretical arrival time: when the key is back at its full burst, in microseconds. */
  readonly tat: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

/** The state for a TAT so far ahead, and when it may be forgotten. */
function write(now: number, ahead: number, part: number): Next<GcraState> {
  return { state: { tat: now + ahead, part }, expiresAfter: part > 0 ? ahead + 1 : ahead };
}

/**
 * The generic cell rate algorithm: permits come back one by one, evenly spread over the window.
 *
 * With T = window / limit, a hit of cost n is admitted when max(TAT, now) + n T <= now + burst T,
 * and moves TAT there (ITU-T I.371, the virtual scheduling form).
 */
export const gcra: AlgorithmDefinition<GcraOptions, GcraState, 'limit' | 'window' | 'burst'> & {
  readonly queues: true;
} = {
  name: 'gcra',
  parameters: ['limit', 'window', 'burst'],
  options: { burst: burstOption },
  check: checkRate,
  capacity: ({ burst }) => burst,
  compile: ({ limit, window, burst = limit }) => ({ limit, window, burst }),
  queues: true,
  prelude: rateLua,
  lua,

  step(state, now, cost, { limit, window, burst }, patience = 0) {
    if (limit === 0) return NEVER;

    let ahead = 0;
    let part = 0;
    if (state && state.tat >= now) {
      ahead = state.tat - now;
      part = Math.min(state.part, limit - 1);
    }
    const capacity = spanOf(burst, limit, window);
    let free = capacity.whole - ahead;
    let freePart = capacity.part - part;
    if (freePart < 0) {
      free -= 1;
      freePart += limit;
    }
    const remaining = permitsIn(free, freePart, limit, window);
    const need = spanOf(cost, limit, window);

    let wait = 0;
    if (cost > remaining) {
      wait = need.whole - free + (need.part > freePart ? 1 : 0);
      if (patience < Infinity && (cost > burst || wait > patience)) {
        const resetAfter = part > 0 ? ahead + 1 : ahead;
        return { allowed: false, remaining, retryAfter: cost > burst ? null : wait, resetAfter, delay: 0 };
      }
    }

    ahead += need.whole;
    part += need.part;
    if (part >= limit) {
      ahead += 1;
      part -= limit;
    }
    const next = write(now, ahead, part);
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter: next.expiresAfter,
      delay: wait,
      state: next.state,
      expiresAfter: next.expiresAfter,
    };
  },

  /**
   * A charge wears off until its own TAT, even where later ones have moved that on: no more than what
   * is left of it is given back.
   */
  refund(state, now, cost, { limit, window }, receipt, onlyLast) {
    if (limit === 0) return undefined;
    let ahead = state.tat - now;
    let part = Math.min(state.part, limit - 1);
    const endsAt = now + ahead + (part > 0 ? 1 : 0);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    const back = spanOf(cost, limit, window);
    const left = Number(receipt) - now - (window % limit === 0 ? 0 : 1);
    const isWornOff = endsAt !== receipt && back.whole > left;
    ahead -= isWornOff ? left : back.whole;
    part -= isWornOff ? 0 : back.part;
    if (part < 0) {
      ahead -= 1;
      part += limit;
    }
    return ahead < 0 ? write(now, 0, 0) : write(now, ahead, part);
  },
};
