import { leave, lengthOf, read, waitFor, write, type Backlog } from '../backlog.js';
import { burstOption, checkRate } from '../burst.js';
import type { AlgorithmDefinition } from '../definition.js';
import { overdraftOption, type Overdrawable } from '../overdraft.js';
import { inheriting, inheritOption, type Inheriting, type Scale } from '../proportional.js';
import { scalePart } from '../scale-part.js';
import { prefetchOption, slotOf, type Prefetchable } from '../prefetch.js';
import { extend, isDebt, minus, NO_TIME, permitsIn, spanOf } from '../rate.js';
import { shareOf } from '../share.js';
import { allow, deny, NEVER } from '../result.js';
import { fairShareOption, type FairShare } from '../fair-share-option.js';
import { fairShare } from './fair-share.js';
import { gcraExamples } from './gcra.examples.js';

/** Options of `algorithm: 'gcra'`. */
export interface GcraOptions extends Prefetchable, Inheriting, Overdrawable {
  /**
   * Permits that can be taken at once after a pause: an integer from 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
  /**
   * Shares the limit fairly: it applies to all subjects of the rule together, each is guaranteed the part of its weight
   * among those that send requests, and what one does not use goes to the others. All counters of the rule are one key.
   * @default no sharing
   */
  readonly share?: FairShare;
}

type GcraParameter = 'limit' | 'window' | 'burst' | 'full' | 'fullPart' | 'overdraft';

/**
 * Scales the rate at which a backlog was charged. Its time stays: as many permits of the new limit as are the same part
 * of it.
 */
const scale: Scale<Backlog> = ({ instant, part, rate, until }, from, to) => {
  const window = rate.window * (from / rate.limit);
  return { ...scalePart({ instant, part }, rate.limit, to, window), rate: { limit: to, window }, until };
};

/**
 * The generic cell rate algorithm (GCRA): permits become available one by one, evenly spread over the window.
 *
 * With T = window / limit, a request of cost n is allowed if max(TAT, now) + n T <= now + burst T, and sets the
 * theoretical arrival time (TAT) to the left side (ITU-T I.371, virtual scheduling algorithm).
 */
export const gcra: AlgorithmDefinition<GcraOptions, Backlog, GcraParameter> & { readonly queues: true } =
  inheriting<GcraOptions, Backlog, GcraParameter, { readonly queues: true }>(scale, {
    name: 'gcra',
    bound: 'rate',
    forLargeLimits: true,
    examples: gcraExamples,
    parameters: ['limit', 'window', 'burst', 'full', 'fullPart', 'overdraft'],
    options: {
      burst: burstOption,
      overdraft: overdraftOption,
      share: fairShareOption,
      prefetch: prefetchOption,
      inherit: inheritOption,
    },
    check: checkRate,
    resolve: ({ share }) => (share ? fairShare : undefined),
    variants: [fairShare],
    capacity: ({ burst }) => burst,
    share: ({ limit, burst = limit }, processes) => ({ burst: shareOf(burst, processes) }),
    compile({ limit, window, burst = limit, overdraft = false }) {
      const { whole: full, part: fullPart } = limit > 0 ? spanOf(burst, limit, window) : NO_TIME;
      return { limit, window, burst, full, fullPart, overdraft: Number(overdraft) };
    },
    queues: true,
    spendBy: slotOf,

    step(state, now, cost, parameters, maxWait = 0) {
      const { limit, window, burst, full, fullPart, overdraft } = parameters;
      if (limit === 0) return NEVER;

      const queue = read(state, now, parameters);
      const { ahead, rate, slowFor } = queue;
      const ownMost = { whole: full, part: fullPart };
      const most = slowFor === 0 ? ownMost : spanOf(burst, rate.limit, rate.window);
      const remaining = permitsIn(minus(most, ahead, rate.limit), rate.limit, rate.window);
      const need = spanOf(cost, rate.limit, rate.window);

      let wait = 0;
      if (cost > remaining) {
        const overdraws = cost > burst && overdraft === 1 && maxWait > 0 && isDebt(need);
        if (overdraws) wait = lengthOf(queue, parameters);
        else {
          const ownNeed = slowFor === 0 ? need : spanOf(cost, limit, window);
          const free = minus(most, need, rate.limit);
          wait = waitFor(queue, parameters, free, minus(ownMost, ownNeed, limit));
        }
        const isNever = cost > burst && !overdraws;
        if (maxWait < Infinity && (isNever || wait > maxWait)) {
          const retryAfter = isNever ? null : wait - maxWait;
          const resetAfter = lengthOf(queue, parameters);
          return deny(remaining, retryAfter, resetAfter);
        }
      }

      const joined = { ...queue, ahead: extend(ahead, need, rate.limit) };
      const next = write(now, joined);
      const resetAfter = slowFor === 0 ? next.expiresAfter : lengthOf(joined, parameters);
      return allow(Math.max(0, remaining - cost), wait, resetAfter, next.state, next.expiresAfter);
    },

    /**
     * A charge expires gradually until the TAT that it set, even if later charges have moved the TAT: at most the rest
     * of the charge is refunded.
     */
    refund(state, now, cost, parameters, receipt, onlyLast) {
      if (parameters.limit === 0) return undefined;
      const queue = read(state, now, parameters);
      const { limit, window } = queue.rate;
      const endsAt = now + lengthOf(queue, parameters);
      if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

      let back = spanOf(cost, limit, window);
      const left = Number(receipt) - now - (window % limit === 0 ? 0 : 1);
      if (endsAt !== receipt && back.whole > left) back = { whole: left, part: 0 };
      return write(now, leave(queue, back));
    },
  });
