import type { Example } from '../example.js';

/** Example rules of gcra. */
export const gcraExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  {
    variant: 'with a burst',
    rule: ({ limit, windowMs }) => ({ limit: 1, window: `${Math.ceil(windowMs / limit)}ms`, burst: limit }),
  },
  { variant: 'with an overdraft', rule: () => ({ overdraft: true }) },
  { variant: 'in proportion', rule: () => ({ inherit: 'proportional' }) },
];
