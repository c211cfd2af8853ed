import type { Duration, Rule } from '../../lib/index.js';

interface Quota {
  readonly limit: number;
  readonly window: Duration;
}

/** A limit by every algorithm that slides: no window of any position holds more, or it refills evenly. */
export function everySlidingRule(quota: Quota): Rule[] {
  return [
    { ...quota, algorithm: 'sliding-window-log' },
    { ...quota, algorithm: 'sliding-window-counter' },
    { ...quota, algorithm: 'sliding-window-cells' },
    { ...quota, algorithm: 'token-bucket' },
    { ...quota, algorithm: 'gcra' },
    { ...quota, algorithm: 'leaky-bucket', queue: quota.limit - 1 },
  ];
}

/** A limit by every algorithm there is. */
export function everyRule(quota: Quota): Rule[] {
  return [{ ...quota, algorithm: 'fixed-window' }, ...everySlidingRule(quota)];
}
