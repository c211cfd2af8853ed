import type { Example } from '../definition.js';

/** Example rules of fixed-window. */
export const fixedWindowExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  { variant: 'by the clock', rule: () => ({ align: 'clock' }) },
  { variant: 'by the calendar', rule: () => ({ window: 'day' }) },
  {
    variant: 'by weeks of a time zone',
    rule: () => ({ window: 'week', timeZone: 'Europe/Berlin', anchor: 3 }),
  },
];
