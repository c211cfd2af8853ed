import type { AlgorithmDefinition } from '../definition.js';
import { integer, oneOf } from '../../contracts/options.js';
import { endOfWindow, prefetchOption, type Prefetchable } from '../prefetch-option.js';
import { EvenGrid, type WindowState } from '../windows.js';
import { calendarWindow } from './calendar-window.js';
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

type FixedWindowParameter = 'limit' | 'window' | 'aligned';

/**
 * The fixed window: at most `limit` permits per window, with the count reset at the end of each. The cheapest
 * algorithm; around the boundary of two windows, up to twice the limit can be allowed in a short time.
 */
export const fixedWindow: AlgorithmDefinition<FixedWindowOptions, WindowState, FixedWindowParameter> & {
  readonly calendar: true;
} = {
  name: 'fixed-window',
  version: 2,
  bound: 'each window',
  examples: [
    { variant: '', rule: () => ({}) },
    { variant: 'by the clock', rule: () => ({ align: 'clock' }) },
    { variant: 'by the calendar', rule: () => ({ window: 'day' }) },
    {
      variant: 'by weeks of a time zone',
      rule: () => ({ window: 'week', timeZone: 'Europe/Berlin', anchor: 3 }),
    },
  ],
  parameters: ['limit', 'window', 'aligned'],
  options: {
    align: oneOf('first-hit', 'clock'),
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
  keyParts: ({ align }) => (align === 'clock' ? [align] : []),
  compile: ({ limit, window, align }) => ({ limit, window, aligned: align === 'clock' ? 1 : 0 }),
  calendar: true,
  spendBy: endOfWindow,
  resolve: ({ calendar }) => (calendar === undefined ? undefined : calendarWindow),
  variants: [calendarWindow],
  ...new EvenGrid().counted(),
};
