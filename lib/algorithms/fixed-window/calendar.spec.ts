import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DateTime } from 'luxon';
import { isTimeZone, windowsAround } from './calendar.js';

const ZONES = Intl.supportedValuesOf('timeZone');
const DAY_MS = 86_400_000;
const SINCE = Date.UTC(2000, 0, 1);
const UNTIL = Date.UTC(2037, 0, 1);

/** Returns the date that the clocks of a time zone show, according to luxon. */
const dateAt = (instant: number, zone: string) => DateTime.fromMillis(instant, { zone }).toISODate();

/**
 * Expects that the window of an instant is the whole day: its first and last instant have the date, and their
 * neighbours do not.
 */
function expectWholeDay(instant: number, timeZone: string): void {
  const { current, coming } = windowsAround({ unit: 'day', timeZone, anchor: 1 }, instant * 1000);
  const [start, end] = [current / 1000, coming / 1000];
  const date = dateAt(instant, timeZone);
  const dates = [start - 1, start, end - 1, end].map((at) => dateAt(at, timeZone) === date);
  expect([timeZone, date, ...dates]).toEqual([timeZone, date, false, true, true, false]);
}

/** Instants around each change of a zone's clocks. */
function instantsAtChanges(zone: string): number[] {
  const days = Array.from({ length: (UNTIL - SINCE) / DAY_MS }, (_, day) => SINCE + day * DAY_MS);
  const isChange = (day: number): boolean =>
    DateTime.fromMillis(day, { zone }).offset !== DateTime.fromMillis(day + DAY_MS, { zone }).offset;
  return days.filter(isChange).flatMap((day) => [-1, 0, 0.5, 1, 2].map((away) => day + away * DAY_MS));
}

describe('a calendar day', () => {
  it('has one date according to luxon at any instant in any time zone', () => {
    const instants = fc.integer({ min: SINCE, max: UNTIL });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), instants, (zone, at) => expectWholeDay(at, zone)),
      {
        numRuns: 2000,
      },
    );
  });

  it.each(['America/Sao_Paulo', 'Asia/Beirut', 'Africa/Cairo', 'Pacific/Apia', 'Australia/Lord_Howe'])(
    'has one date according to luxon when the clocks of %s change',
    (zone) => {
      const instants = instantsAtChanges(zone);
      expect(instants.length).toBeGreaterThan(0);
      for (const instant of instants) expectWholeDay(instant, zone);
    },
  );
});

describe('a time zone of a calendar', () => {
  it('can be any that the runtime supports', () => {
    expect(ZONES.filter((zone) => !isTimeZone(zone))).toEqual([]);
  });

  it.each(['', 'Mars/Olympus', '+01:00', 5, undefined])('cannot be %p', (value) => {
    expect(isTimeZone(value)).toBe(false);
  });
});
