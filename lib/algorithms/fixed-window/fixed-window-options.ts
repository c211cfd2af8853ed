import type { Terms } from '../definition.js';
import { leaseOption, type Leasable } from '../lease.js';
import { integer } from '../option-checks.js';
import { isTimeZone } from './calendar.js';

/** Options of `algorithm: 'fixed-window'`, whose window may also be a `'day'`, a `'week'` or a `'month'`. */
export interface FixedWindowOptions extends Leasable {
  /**
   * When a window that is a duration starts: at the first hit after the last one ended, or at the
   * multiples of the window since the Unix epoch (UTC), the same for every subject.
   * @default 'first-hit'
   */
  readonly align?: 'first-hit' | 'clock';
  /**
   * The time zone of a `'day'`, a `'week'` or a `'month'`, by its IANA name, such as `'Europe/Berlin'`.
   * @default 'UTC'
   */
  readonly timeZone?: string;
  /**
   * On what a `'week'` or a `'month'` starts: the ISO weekday, 1 (Monday) to 7 (Sunday), or the day of the
   * month, 1 to 28, which every month has.
   * @default 1
   */
  readonly anchor?: number;
}

export type FixedWindowParameter = 'limit' | 'window' | 'aligned';

/** What a rule whose window is a duration may say, and its numbers for script and twin. */
export const fixedWindowTerms: Terms<FixedWindowOptions, FixedWindowParameter> = {
  parameters: ['limit', 'window', 'aligned'],
  options: {
    align: {
      allowed: '"first-hit" or "clock"',
      accepts: (value) => value === 'first-hit' || value === 'clock',
    },
    timeZone: {
      allowed: 'the IANA name of a time zone, such as "UTC" or "Europe/Berlin"',
      accepts: isTimeZone,
    },
    anchor: {
      ...integer(1, 28),
      allowed:
        'with the window "week" an ISO weekday from 1 (Monday) to 7 (Sunday), with "month" a day from 1 to 28',
    },
    lease: leaseOption,
  },
  check(rule) {
    const field = (['timeZone', 'anchor'] as const).find((name) => rule[name] !== undefined);
    if (field === undefined) return undefined;
    return `${field} is ${JSON.stringify(rule[field])}; allowed: only with the window "day", "week" or "month"`;
  },
  compile: ({ limit, window, align }) => ({ limit, window, aligned: align === 'clock' ? 1 : 0 }),
};
