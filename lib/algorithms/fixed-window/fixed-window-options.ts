import type { Terms } from '../definition.js';
import { prefetchOption, type Prefetchable } from '../prefetch.js';
import { integer } from '../option-checks.js';
import { isTimeZone } from './calendar.js';

/** Options of `algorithm: 'fixed-window'`. Its window may also be a calendar window: `'day'`, `'week'`, `'month'`. */
export interface FixedWindowOptions extends Prefetchable {
  /**
   * When a window starts, if it is a duration: `'first-hit'`: at the first request after the previous window ended;
   * `'clock'`: at the multiples of the window since the Unix epoch (UTC), the same for every subject.
   * @default 'first-hit'
   */
  readonly align?: 'first-hit' | 'clock';
  /**
   * Time zone of a calendar window: an IANA name such as `'Europe/Berlin'`.
   * @default 'UTC'
   */
  readonly timeZone?: string;
  /**
   * First day of a calendar window: of a `'week'` the ISO weekday from 1 (Monday) to 7 (Sunday), of a `'month'` the
   * day from 1 to 28.
   * @default 1
   */
  readonly anchor?: number;
}

export type FixedWindowParameter = 'limit' | 'window' | 'aligned';

/** The option checks and the parameters of a rule whose window is a duration. */
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
    prefetch: prefetchOption,
  },
  check(rule) {
    const field = (['timeZone', 'anchor'] as const).find((name) => rule[name] !== undefined);
    if (field === undefined) return undefined;
    return `${field} is ${JSON.stringify(rule[field])}; allowed: only with the window "day", "week" or "month"`;
  },
  compile: ({ limit, window, align }) => ({ limit, window, aligned: align === 'clock' ? 1 : 0 }),
};
