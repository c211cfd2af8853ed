import type { Example } from '../example.js';

/** Example rules of sliding-window-cells. */
export const slidingWindowCellsExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  { variant: '60 cells', rule: ({ limit }) => ({ cells: Math.min(60, limit) }) },
  { variant: '5 cells', rule: ({ limit }) => ({ cells: Math.min(5, limit) }) },
];
