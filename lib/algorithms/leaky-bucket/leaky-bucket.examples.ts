import type { Example } from '../definition.js';

/** Example rules of leaky-bucket. */
export const leakyBucketExamples: readonly Example[] = [
  { variant: '', rule: ({ limit }) => ({ queue: limit - 1 }) },
  {
    variant: 'with delayAfter',
    rule: ({ limit }) => ({ queue: limit - 1, delayAfter: Math.floor(limit / 2) }),
  },
  {
    variant: 'with maxWait',
    rule: ({ limit, windowMs }) => ({
      queue: 2 * limit,
      maxWait: `${Math.max(1, Math.floor((windowMs / limit) * (limit - 1)))}ms`,
    }),
  },
];
