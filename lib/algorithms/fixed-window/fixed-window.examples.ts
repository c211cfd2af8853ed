import type { Example } from '../example.js';

/** Rules to try fixed-window with. */
export const fixedWindowExamples: readonly Example[] = [
  { variant: '', rule: () => ({}) },
  { variant: 'by the clock', rule: () => ({ align: 'clock' }) },
  { variant: 'by the calendar', rule: () => ({ window: 'day' }) },
];
