import type { Example } from '../definition.js';

/** Example rules of gcra. */
export const gcraExamples: readonly Example[] = [
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
];
