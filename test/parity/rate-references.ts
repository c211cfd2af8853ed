import { gcra } from '../../lib/algorithms/gcra/gcra.js';
import { leakyBucket } from '../../lib/algorithms/leaky-bucket/leaky-bucket.js';
import { tokenBucket } from '../../lib/algorithms/token-bucket/token-bucket.js';
import { Reference } from '../support/reference.js';
import type { DrawnRule } from './drawn-rule.js';
import { unhurriedTimelines } from './forward-timeline.js';
import * as models from './rate-models.js';
import type { ReferenceUnderTest } from './reference-under-test.js';
import { warmUpBucket } from './warm-up-model.js';
import { ms } from '../support/milliseconds.js';

const burstOf = ({ burst }: DrawnRule): number => burst;
const initialOf = ({ burst, initial }: Pick<DrawnRule, 'burst' | 'initial'>): number =>
  Math.min(burst, initial);
const undelayedOf = ({ burst, delayAfter }: DrawnRule): number => Math.min(burst - 1, delayAfter);

/** The algorithms that allow requests at a rate, with every refill and every delay. */
export const RATE_REFERENCES: readonly ReferenceUnderTest[] = [
  {
    name: 'token-bucket',
    create: ({ limit, window, burst }) => new Reference(tokenBucket, { limit, window, burst }),
    capacity: burstOf,
    model: models.tokenBucket,
  },
  {
    name: 'token-bucket by the interval',
    create: ({ limit, window, burst }) =>
      new Reference(tokenBucket, { limit, window, burst, refill: 'interval' }),
    capacity: burstOf,
    model: models.intervalBucket,
  },
  {
    name: 'token-bucket with less at first',
    create: ({ limit, window, burst, initial }) =>
      new Reference(tokenBucket, { limit, window, burst, initial: initialOf({ burst, initial }) }),
    capacity: burstOf,
    atFirst: initialOf,
    model: models.newTokenBucket,
  },
  {
    name: 'token-bucket that warms up',
    create: ({ limit, window, warmUp }) =>
      new Reference(tokenBucket, { limit, window, warmUp: ms(warmUp / 1000) }),
    capacity: ({ limit }) => limit,
    model: warmUpBucket,
    timelines: unhurriedTimelines,
  },
  {
    name: 'gcra',
    create: ({ limit, window, burst }) => new Reference(gcra, { limit, window, burst }),
    capacity: burstOf,
    model: models.gcra,
  },
  {
    name: 'leaky-bucket',
    create: ({ limit, window, burst }) => new Reference(leakyBucket, { limit, window, queue: burst - 1 }),
    capacity: burstOf,
    model: models.leakyBucket,
  },
  {
    name: 'leaky-bucket with a longest delay',
    create: (rule) =>
      new Reference(leakyBucket, {
        ...{ limit: rule.limit, window: rule.window, queue: rule.burst - 1 },
        ...{ delayAfter: undelayedOf(rule), maxWait: ms(rule.maxDelay / 1000) },
      }),
    capacity: (rule) => {
      const { limit, window, burst, maxDelay } = rule;
      return Math.min(burst, undelayedOf(rule) + Math.floor((maxDelay * limit) / window) + 1);
    },
    model: models.delayingLeakyBucket,
  },
];
