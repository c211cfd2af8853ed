import type { Rule } from '../../lib/index.js';

const quota = { limit: 5, window: '10s' } as const;

/** Five per ten seconds, in every way there is. */
export const EVERY_RULE: readonly Rule[] = [
  { ...quota, name: 'fixed', algorithm: 'fixed-window' },
  { ...quota, name: 'clock', algorithm: 'fixed-window', align: 'clock' },
  { ...quota, name: 'log', algorithm: 'sliding-window-log' },
  { ...quota, name: 'counter', algorithm: 'sliding-window-counter' },
  { ...quota, name: 'cells', algorithm: 'sliding-window-cells', cells: 5 },
  { ...quota, name: 'bucket', algorithm: 'token-bucket' },
  { ...quota, name: 'gcra', algorithm: 'gcra' },
  { ...quota, name: 'leaky', algorithm: 'leaky-bucket', queue: 4 },
];
