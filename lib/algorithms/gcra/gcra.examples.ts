import type { Example } from '../example.js';

/** Rules to try gcra with. */
export const gcraExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  {
    variant: 'with a burst',
    rule: ({ limit, windowMs }) => ({ limit: 1, window: `${windowMs / limit}ms`, burst: limit }),
  },
];
