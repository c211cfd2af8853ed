import { RateLimitConfigError } from '../../lib/index.js';

/** Values that are no object with fields. */
export const NO_OBJECTS: readonly unknown[] = [
  ...[null, 5, NaN, true, 5n, 'x', Symbol('x'), () => 1, Date],
  ...[[], [{}], new Map([['cost', 5]]), new Set(), new Date(0), Promise.resolve({})],
];

/** A message names the place, and what is allowed there or what to write. */
const HELPS = /: [\s\S]*(allowed|write|remove|return it)/;

/** What is wrong with the way in which a call is refused, `'none'` if nothing is. */
export async function faultOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof RateLimitConfigError)) return `threw ${String(error)}`;
    return error.problems.every((each) => HELPS.test(each)) ? 'none' : `does not help: ${error.message}`;
  }
  return 'ignored';
}
