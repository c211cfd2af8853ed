import type { Duration } from '../../lib/index.js';

/** So many milliseconds, as a rule has them. */
export function ms(milliseconds: number): Duration {
  return `${milliseconds}ms`;
}
