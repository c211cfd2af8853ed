import type { AnyRule, Rule } from '../../lib/index.js';
import { EVERY_RULE } from './every-rule.js';

const quota = { limit: 5, window: '10s' } as const;

/** Five at once, as in `EVERY_RULE`, and by the options that change how. */
export const EVERY_OPTION: readonly Rule[] = [
  ...EVERY_RULE,
  { name: 'day', algorithm: 'fixed-window', limit: 5, window: 'day' },
  { name: 'bucket with burst', algorithm: 'token-bucket', limit: 1, window: '2s', burst: 5 },
  { ...quota, name: 'bucket by interval', algorithm: 'token-bucket', refill: 'interval' },
  { name: 'gcra with burst', algorithm: 'gcra', limit: 1, window: '2s', burst: 5 },
  { ...quota, name: 'leaky, delayAfter', algorithm: 'leaky-bucket', queue: 4, delayAfter: 2 },
  { ...quota, name: 'leaky, maxDelay', algorithm: 'leaky-bucket', queue: 99, maxDelay: '8s' },
];

/** Every kind of rule there is, those too that do not let five through at once. */
export const EVERY_KIND: readonly AnyRule[] = [
  ...EVERY_OPTION,
  { ...quota, name: 'warming up', algorithm: 'token-bucket', warmUp: '4s' },
  { ...quota, name: 'new bucket', algorithm: 'token-bucket', initial: 3 },
  { name: 'in flight', algorithm: 'concurrency', limit: 5, lease: '10s' },
  { ...quota, name: 'blocking', algorithm: 'gcra', block: '3s' },
  { ...quota, name: 'shadow', algorithm: 'fixed-window', limit: 3, mode: 'shadow' },
  { ...quota, name: 'shadow and blocking', algorithm: 'gcra', mode: 'shadow', block: '3s' },
  { ...quota, name: 'with a trial', algorithm: 'sliding-window-log', trial: { limit: 3 } },
  { ...quota, name: 'by instance', algorithm: 'sliding-window-counter', per: 'instance' },
];
