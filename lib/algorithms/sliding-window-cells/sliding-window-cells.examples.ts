import type { Example } from '../definition.js';

/** Example rules of sliding-window-cells. */
export const slidingWindowCellsExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  { variant: '5 cells', rule: () => ({ cells: 5 }) },
];
