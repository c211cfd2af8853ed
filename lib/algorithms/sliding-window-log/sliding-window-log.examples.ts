import type { Example } from '../example.js';

/** Example rules of sliding-window-log. */
export const slidingWindowLogExamples: readonly Example[] = [
  { variant: '', rule: () => ({}), keepsEntries: true },
];
