import type { Example } from '../example.js';

/** Rules to try sliding-window-log with. */
export const slidingWindowLogExamples: readonly Example[] = [
  { variant: '', rule: () => ({}), keepsEntries: true },
];
