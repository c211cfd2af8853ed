import type { Example } from '../definition.js';

/** Example rules of sliding-window-counter. */
export const slidingWindowCounterExamples: readonly Example[] = [{ variant: '', rule: () => ({}) }];
