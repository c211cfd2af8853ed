import type { Example } from '../example.js';

/** Example rules of sliding-window-counter. */
export const slidingWindowCounterExamples: readonly Example[] = [{ variant: '', rule: () => ({}) }];
