import type { Duration } from '../../lib/index.js';

/** Returns a number of milliseconds as a duration for rules. */
export function ms(milliseconds: number): Duration {
  return `${milliseconds}ms`;
}
