import { read, write, type Backlog } from '../backlog.js';
import backlogLua from '../backlog.lua.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { slotOf } from '../lease.js';
import { minus, NO_TIME, permitsIn, plus, roundUp, spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import { gcraTerms, type GcraOptions, type GcraParameter } from './gcra-options.js';
import lua from './gcra.lua.js';

export type { GcraOptions };

/**
 * The generic cell rate algorithm: permits come back one by one, evenly spread over the window.
 *
 * With T = window / limit, a hit of cost n is admitted when max(TAT, now) + n T <= now + burst T,
 * and moves TAT there (ITU-T I.371, the virtual scheduling form).
 */
export const gcra: AlgorithmDefinition<GcraOptions, Backlog, GcraParameter> & { readonly queues: true } = {
  name: 'gcra',
  ...gcraTerms,
  queues: true,
  spendBy: slotOf,
  prelude: rateLua,
  lua: backlogLua + lua,

  step(state, now, cost, { limit, window, burst, full, fullPart }, patience = 0) {
    if (limit === 0) return NEVER;

    const ahead = read(state, now, limit);
    const free = minus({ whole: full, part: fullPart }, ahead, limit);
    const remaining = permitsIn(free, limit, window);
    const need = spanOf(cost, limit, window);

    let wait = 0;
    if (cost > remaining) {
      wait = roundUp(minus(need, free, limit));
      if (patience < Infinity && (cost > burst || wait > patience)) {
        const retryAfter = cost > burst ? null : wait - patience;
        return { allowed: false, remaining, retryAfter, resetAfter: roundUp(ahead), delay: 0 };
      }
    }

    const { state: next, expiresAfter } = write(now, plus(ahead, need, limit));
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter: expiresAfter,
      delay: wait,
      state: next,
      expiresAfter,
    };
  },

  /**
   * A charge wears off until its own TAT, even where later ones have moved that on: no more than what
   * is left of it is given back.
   */
  refund(state, now, cost, { limit, window }, receipt, onlyLast) {
    if (limit === 0) return undefined;
    const ahead = read(state, now, limit);
    const endsAt = now + roundUp(ahead);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    let back = spanOf(cost, limit, window);
    const left = Number(receipt) - now - (window % limit === 0 ? 0 : 1);
    if (endsAt !== receipt && back.whole > left) back = { whole: left, part: 0 };
    const rest = minus(ahead, back, limit);
    return write(now, rest.whole < 0 ? NO_TIME : rest);
  },
};
