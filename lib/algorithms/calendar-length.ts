/** A window of the calendar instead of a length of time. */
export type CalendarWindow = 'day' | 'week' | 'month';

/** How long a window of the calendar is as a rule, in microseconds: a day may have 23 hours, a month 31 days. */
export const NOMINAL_LENGTHS: Readonly<Record<CalendarWindow, number>> = {
  day: 86_400e6,
  week: 7 * 86_400e6,
  month: 30 * 86_400e6,
};

/** Whether a window is one of the calendar. */
export function isCalendarWindow(value: unknown): value is CalendarWindow {
  return typeof value === 'string' && Object.hasOwn(NOMINAL_LENGTHS, value);
}
