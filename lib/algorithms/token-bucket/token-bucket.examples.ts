import type { Example } from '../definition.js';

/** Example rules of token-bucket. */
export const tokenBucketExamples: readonly Example[] = [
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
  { variant: 'by the interval', rule: () => ({ refill: 'interval' }) },
  { variant: 'half full', rule: ({ limit }) => ({ initial: Math.ceil(limit / 2) }), allAtOnce: false },
  { variant: 'with a warm-up', rule: ({ windowMs }) => ({ warmUp: `${windowMs}ms` }), allAtOnce: false },
];
