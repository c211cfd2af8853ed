import { readCount } from '../contracts/count.js';
import { DURATION_ALLOWED, durationFix, parseDuration } from '../contracts/duration.js';
import type { OptionCheck } from './definition.js';

/** An option that is an integer within bounds, themselves allowed; it may be given as a string of digits. */
export function integer(least: number, most: number): OptionCheck {
  return {
    allowed: `an integer from ${least} to ${most}`,
    accepts: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    read: readCount,
  };
}

/** An option that is a length of time. */
export const durationOption = {
  allowed: DURATION_ALLOWED,
  accepts: (value) => parseDuration(value) !== undefined,
  fix: durationFix,
} as const satisfies OptionCheck;
