import fc from 'fast-check';
import type { CalendarSketch } from './rule-sketch.js';

const HOUR = 3600e6;

/** A time zone with irregular days, and an instant on such a day or on a day next to it. */
const ODD_DAYS: readonly (readonly [timeZone: string | undefined, day: string])[] = [
  [undefined, '2024-02-29'],
  ['UTC', '2023-12-31'],
  ['Asia/Kathmandu', '2024-03-01'],
  ['Europe/Berlin', '2024-03-31'], // 23 hours, at the end of a month
  ['Europe/Berlin', '2024-10-27'], // 25 hours
  ['Australia/Lord_Howe', '2024-04-07'], // 24.5 hours
  ['America/Sao_Paulo', '2018-11-04'], // no midnight
  ['America/Havana', '2024-11-03'], // two midnights
  ['America/St_Johns', '2006-10-29'], // one minute after midnight, the date is that of the day before again
  ['Pacific/Apia', '2011-12-30'], // a skipped date
];

/** The possible first days of a week or a month. */
const anchor = fc.oneof(fc.constantFrom(1, 7, 28), fc.integer({ min: 1, max: 28 }));

/** Calendar windows, each near an irregular day of its time zone. */
export const calendars: fc.Arbitrary<CalendarSketch> = fc
  .record({
    unit: fc.constantFrom('day', 'week', 'month'),
    odd: fc.constantFrom(...ODD_DAYS),
    anchor: fc.option(anchor, { nil: undefined, freq: 2 }),
    earlier: fc.nat(48),
  })
  .map(({ unit, odd: [timeZone, day], anchor, earlier }) => {
    const start = { day: undefined, week: anchor && ((anchor - 1) % 7) + 1, month: anchor };
    const near = Date.parse(`${day}T12:00Z`) * 1000 - earlier * HOUR;
    return { unit, timeZone, anchor: start[unit], near };
  });
