import type { VariantTerms } from '../definition.js';
import { windowsAround } from './calendar.js';
import type { FixedWindowOptions } from './fixed-window-options.js';
import type { WindowStarts } from './window-starts.js';

export type CalendarWindowParameter = 'limit' | keyof WindowStarts;

/** The option checks and the parameters of a rule with a calendar window. */
export const calendarWindowTerms: VariantTerms<FixedWindowOptions, CalendarWindowParameter> = {
  parameters: ['limit', 'previous', 'current', 'coming', 'last'],
  check({ calendar, align, anchor }) {
    if (align !== undefined) {
      return `align is "${align}"; allowed: none with the window "${calendar}", which starts with the calendar's`;
    }
    if (calendar === 'day' && anchor !== undefined) {
      return `anchor is ${anchor}; allowed: none with the window "day"`;
    }
    if (calendar === 'week' && anchor !== undefined && anchor > 7) {
      return `anchor is ${anchor}; allowed with the window "week": an ISO weekday from 1 (Monday) to 7 (Sunday)`;
    }
    return undefined;
  },
  /** Returns windows of the nominal length. `compileAt` returns the actual ones. */
  compile: ({ limit, window }) => ({
    limit,
    previous: -window,
    current: 0,
    coming: window,
    last: 2 * window,
  }),
  compileAt({ limit, calendar: unit = 'day', timeZone = 'UTC', anchor = 1 }) {
    const calendar = { unit, timeZone, anchor };
    return (now) => ({ limit, ...windowsAround(calendar, now) });
  },
};
