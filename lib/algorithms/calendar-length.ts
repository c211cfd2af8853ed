/** A calendar window: from the start to the end of a day, week or month in the rule's time zone. */
export type CalendarWindow = 'day' | 'week' | 'month';

/** Nominal length of a calendar window in microseconds: an actual day may have 23 hours, a month 31 days. */
export const NOMINAL_LENGTHS: Readonly<Record<CalendarWindow, number>> = {
  day: 86_400e6,
  week: 7 * 86_400e6,
  month: 30 * 86_400e6,
};

/** Whether a window is a calendar window. */
export function isCalendarWindow(value: unknown): value is CalendarWindow {
  return typeof value === 'string' && Object.hasOwn(NOMINAL_LENGTHS, value);
}
