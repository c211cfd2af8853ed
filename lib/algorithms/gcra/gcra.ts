import { refundBacklog, isAhead, takeFrom, type Backlog, type BurstPace } from '../backlog.js';
import {
  BURST_EXAMPLES,
  burstOption,
  capacityOf,
  checkRate,
  paceOf,
  timePart,
  type Capacity,
  type Overdrawable,
} from '../burst.js';
import { FLAG } from '../../contracts/options.js';
import type { AlgorithmDefinition } from '../definition.js';
import { prefetchOption, slotOf, type Prefetchable } from '../prefetch-option.js';
import { fairShareOption, type FairShare } from '../fair-share-option.js';
import { fairShare } from './fair-share.js';

/** Options of `algorithm: 'gcra'`. */
export interface GcraOptions extends Prefetchable, Overdrawable {
  /**
   * Permits that can be taken at once after a pause: an integer from 1 to 1,000,000,000, or the time in which the limit
   * adds them, such as `'10s'`. A rule whose limit comes from a function needs a time.
   * @default the rule's `limit`
   */
  readonly burst?: Capacity;
  /**
   * Shares the limit fairly: it applies to all subjects of the rule together, each is guaranteed the part of its weight
   * among those that have places, and what one does not use goes to the others. All counters of the rule are one key.
   * @default no sharing
   */
  readonly share?: FairShare;
}

/**
 * The generic cell rate algorithm (GCRA): permits become available one by one, evenly spread over the window.
 *
 * With T = window / limit, a request of cost n is allowed if max(TAT, now) + n T <= now + burst T, and sets the
 * theoretical arrival time (TAT) to the left side (ITU-T I.371, virtual scheduling algorithm).
 */
export const gcra: AlgorithmDefinition<GcraOptions, Backlog, keyof BurstPace> & { readonly queues: true } = {
  name: 'gcra',
  version: 2,
  bound: 'rate',
  examples: BURST_EXAMPLES,
  parameters: ['limit', 'window', 'burst', 'full', 'fullPart', 'time', 'overdraft'],
  options: {
    burst: burstOption,
    overdraft: FLAG,
    share: fairShareOption,
    prefetch: prefetchOption,
  },
  check: checkRate,
  keyParts: (rule) => timePart(rule.burst, rule),
  resolve: ({ share }) => (share ? fairShare : undefined),
  variants: [fairShare],
  capacity: ({ burst }) => burst,
  perProcess: ({ limit, burst = limit }, processes) => ({ burst: capacityOf(burst, processes) }),
  compile: paceOf,
  queues: true,
  spendBy: slotOf,

  step: takeFrom,
  refund: refundBacklog,
  isAhead,
};
