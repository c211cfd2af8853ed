import type { Example } from '../definition.js';

/** Example rules of sliding-window-log. */
export const slidingWindowLogExamples: readonly Example[] = [
  { variant: '', rule: () => ({}), keepsEntries: true },
];
