import { DURATION_ALLOWED, parseDuration } from '../contracts/duration.js';
import type { OptionCheck } from './definition.js';

/** An option that is an integer within bounds, themselves allowed. */
export function integer(least: number, most: number): OptionCheck {
  return {
    allowed: `an integer from ${least} to ${most}`,
    accepts: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  };
}

/** An option that is a length of time. */
export const durationOption: OptionCheck = {
  allowed: DURATION_ALLOWED,
  accepts: (value) => parseDuration(value) !== undefined,
};
