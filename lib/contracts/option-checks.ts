import { readCount } from './count.js';
import { DURATION_ALLOWED, durationFix, parseDuration } from './duration.js';
import type { OptionCheck } from './options.js';

/** Checks an integer from `least` to `most`, which may also be given as a string of digits. */
export function integer(least: number, most: number): OptionCheck {
  return {
    allowed: `an integer from ${least} to ${most}`,
    accepts: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    read: readCount,
  };
}

/** Checks a duration. */
export const durationOption = {
  allowed: DURATION_ALLOWED,
  accepts: (value) => parseDuration(value) !== undefined,
  fix: durationFix,
} as const satisfies OptionCheck;
