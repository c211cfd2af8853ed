import type { Example } from '../example.js';

/** Example rules of sliding-window-cells. */
export const slidingWindowCellsExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  { variant: '5 cells', rule: ({ limit }) => ({ cells: Math.min(5, limit) }) },
  { variant: 'in proportion', rule: () => ({ inherit: 'proportional' }) },
];
