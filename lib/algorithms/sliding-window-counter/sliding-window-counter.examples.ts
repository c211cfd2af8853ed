import type { Example } from '../example.js';

/** Rules to try sliding-window-counter with. */
export const slidingWindowCounterExamples: readonly Example[] = [{ variant: '', rule: () => ({}) }];
