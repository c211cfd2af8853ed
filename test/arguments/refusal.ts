import { RateLimitConfigError } from '../../lib/index.js';

/** Values that are not objects with fields. */
export const NO_OBJECTS: readonly unknown[] = [
  ...[null, 5, NaN, true, 5n, 'x', Symbol('x'), () => 1, Date],
  ...[[], [{}], new Map([['cost', 5]]), new Set(), new Date(0), Promise.resolve({})],
];

/** Matches a message that contains the path of the argument, and the allowed values or a replacement. */
const HELPS = /: [\s\S]*(allowed|write|remove|return it)/;

/** Returns what is wrong with the error of a call, `'none'` if it is correct. */
export async function faultOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof RateLimitConfigError)) return `threw ${String(error)}`;
    return error.problems.every((each) => HELPS.test(each)) ? 'none' : `does not help: ${error.message}`;
  }
  return 'ignored';
}
