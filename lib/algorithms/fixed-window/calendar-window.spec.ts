import { describe, expect, it } from '@jest/globals';
import { clockedConsumer } from '../../../test/support/clocked-consumer.js';
import { expectTimeline, type DecideOptions } from '../../../test/support/timeline.js';
import { MemoryStore, RateLimitConfigError, type Rule } from '../../index.js';
import { RateLimiter } from '../../limiter.js';
import { compileRule } from '../../rules/compile-rule.js';
import { calendarWindow } from './calendar-window.js';
import type { WindowState } from '../windows.js';
import { windowsAround, type Calendar } from './calendar.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type CalendarRule = Extract<Rule, { algorithm: 'fixed-window' }>;
type Changes = Partial<Omit<CalendarRule, 'algorithm'>>;

/** A subject that requests permits of a calendar window; three per day unless stated otherwise. */
function threeADay(start: string, changes: Changes = {}): DecideOptions {
  const rule = { algorithm: 'fixed-window', limit: 3, window: 'day', ...changes } as Rule;
  return clockedConsumer(rule, Date.parse(start));
}

/** Returns the starts of the windows around an instant. */
function startsAround(instant: string, calendar: Partial<Calendar>): string[] {
  const microseconds = Date.parse(instant) * 1000;
  const starts = windowsAround({ unit: 'day', timeZone: 'UTC', anchor: 1, ...calendar }, microseconds);
  const { previous, current, coming, last } = starts;
  return [previous, current, coming, last].map((start) => new Date(start / 1000).toISOString());
}

describe('a daily limit in Berlin', () => {
  const berlin = { timeZone: 'Europe/Berlin' } as const;

  it('lasts from midnight to midnight, whenever the first request is sent', async () => {
    await expectTimeline(
      threeADay('2024-01-09T23:00:00Z', berlin),
      `
             at  cost | allowed  remaining     retry     reset
       43200000     2 | yes              1         0  43200000
       43200001     2 | no               1  43199999  43199999
       86399999     4 | no               1     never         1
       86400000     3 | yes              0         0  86400000
       86400001     0 | yes              0         0  86399999
      `,
    );
  });

  it('is available again after 23 hours when the clocks go forward', async () => {
    await expectTimeline(
      threeADay('2024-03-30T23:00:00Z', berlin),
      `
              at  cost | allowed  remaining     retry     reset
               0     3 | yes              0         0  82800000
               1     1 | no               0  82799999  82799999
        82799999     1 | no               0         1         1
        82800000     1 | yes              2         0  86400000
       169200000     3 | yes              0         0  86400000
      `,
    );
  });

  it('is available again after 25 hours when the clocks go back, and not after 24', async () => {
    await expectTimeline(
      threeADay('2024-10-26T22:00:00Z', berlin),
      `
              at  cost | allowed  remaining     retry     reset
               0     3 | yes              0         0  90000000
        86400000     1 | no               0   3600000   3600000
        89999999     1 | no               0         1         1
        90000000     3 | yes              0         0  86400000
      `,
    );
  });

  it('reports a window of one day, and the actual length of the day in resetAfter', async () => {
    const limiter = new RateLimiter({ store: new MemoryStore() });
    const rule: Rule = { algorithm: 'fixed-window', limit: 3, window: 'day', ...berlin };
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ limit: 3, windowMs: DAY });
  });
});

describe('a weekly and a monthly limit', () => {
  it('starts on Monday at midnight in UTC', async () => {
    await expectTimeline(
      threeADay('2024-05-12T23:59:59Z', { window: 'week' }),
      `
         at  cost | allowed  remaining  retry      reset
          0     3 | yes              0      0       1000
        999     1 | no               0      1          1
       1000     1 | yes              2      0  604800000
      `,
    );
  });

  it('counts the hour that the clocks skip in a week that starts on Sunday', async () => {
    await expectTimeline(
      threeADay('2024-03-10T05:00:00Z', { window: 'week', anchor: 7, timeZone: 'America/New_York' }),
      `
              at  cost | allowed  remaining  retry      reset
               0     3 | yes              0      0  601200000
       601199999     1 | no               0      1          1
       601200000     3 | yes              0      0  604800000
      `,
    );
  });

  it('starts on the 15th and lasts as long as the months are', async () => {
    await expectTimeline(
      threeADay('2024-01-15T00:00:00Z', { window: 'month', anchor: 15 }),
      `
               at  cost | allowed  remaining  retry       reset
                0     3 | yes              0      0  2678400000
       2678399999     1 | no               0      1           1
       2678400000     3 | yes              0      0  2505600000
       5183999999     1 | no               0      1           1
       5184000000     1 | yes              2      0  2678400000
      `,
    );
  });

  it('resets after 29 days in February 2024 and after 28 days in 2023', () => {
    expect(startsAround('2024-02-29T12:00:00Z', { unit: 'month' })).toEqual([
      '2024-01-01T00:00:00.000Z',
      '2024-02-01T00:00:00.000Z',
      '2024-03-01T00:00:00.000Z',
      '2024-04-01T00:00:00.000Z',
    ]);
    expect(startsAround('2023-03-01T00:00:00Z', { unit: 'month', anchor: 28 })).toEqual([
      '2023-01-28T00:00:00.000Z',
      '2023-02-28T00:00:00.000Z',
      '2023-03-28T00:00:00.000Z',
      '2023-04-28T00:00:00.000Z',
    ]);
  });

  it('belongs to the previous month until the day of the anchor', () => {
    const months = startsAround('2024-03-14T22:59:59Z', {
      unit: 'month',
      anchor: 15,
      timeZone: 'Europe/Berlin',
    });
    expect(months.slice(1, 3)).toEqual(['2024-02-14T23:00:00.000Z', '2024-03-14T23:00:00.000Z']);
  });
});

describe('a daily limit in a time zone whose clocks change at midnight', () => {
  it('starts at 01:00 on a day without midnight', async () => {
    await expectTimeline(
      threeADay('2018-11-04T02:59:59Z', { timeZone: 'America/Sao_Paulo' }),
      `
             at  cost | allowed  remaining  retry     reset
              0     3 | yes              0      0      1000
            999     1 | no               0      1         1
           1000     3 | yes              0      0  82800000
       82800999     1 | no               0      1         1
       82801000     1 | yes              2      0  86400000
      `,
    );
  });

  it('starts once on a day with two midnights', () => {
    expect(startsAround('2024-11-03T05:30:00Z', { timeZone: 'America/Havana' })).toEqual([
      '2024-11-02T04:00:00.000Z',
      '2024-11-03T04:00:00.000Z',
      '2024-11-04T05:00:00.000Z',
      '2024-11-05T05:00:00.000Z',
    ]);
  });

  it('does not return to the previous day when the clocks do', () => {
    // 00:01 on 7 November 2010 in St. John's. A minute later, the clocks show 23:01 on 6 November again.
    const again = startsAround('2010-11-07T03:00:00Z', { timeZone: 'America/St_Johns' });
    expect(again.slice(1, 3)).toEqual(['2010-11-07T02:30:00.000Z', '2010-11-08T03:30:00.000Z']);
  });

  it('has no window for a date that was skipped', () => {
    expect(startsAround('2011-12-30T09:59:59Z', { timeZone: 'Pacific/Apia' })).toEqual([
      '2011-12-28T10:00:00.000Z',
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ]);
  });
});

describe('a calendar window and the clocks of processes', () => {
  const parametersAt = calendarWindow.compileAt!({
    limit: 3,
    window: DAY * 1000,
    calendar: 'day',
    timeZone: 'Europe/Berlin',
  });
  const midnight = Date.parse('2024-03-30T23:00:00Z') * 1000;
  const hour = HOUR * 1000;

  /** Returns the state after a charge. */
  function charge(now: number, cost: number, maxWait = 0): WindowState {
    const step = calendarWindow.step(undefined, now, cost, parametersAt(now), maxWait);
    if (!step.allowed) throw new Error('denied');
    return step.state;
  }

  it("decides by the server's clock if the clock of a process is wrong by a day", () => {
    const state = charge(midnight, 2);
    for (const now of [midnight, midnight + 22 * hour, midnight + 23 * hour, midnight + 46 * hour]) {
      const told = [-23, -1, 0, 1, 22].map((wrong) =>
        calendarWindow.step(state, now, 1, parametersAt(now + wrong * hour)),
      );
      expect(told).toEqual(told.map(() => told[2]));
    }
  });

  it("counts in yesterday if the server's clock is set back by an hour at midnight", () => {
    const state = charge(midnight, 2);
    const before = midnight - hour;
    expect(calendarWindow.isAhead?.(state, before, parametersAt(before))).toBe(true);
    expect(calendarWindow.step(state, before, 2, parametersAt(before))).toMatchObject({
      allowed: false,
      remaining: 1,
      retryAfter: hour,
    });
  });

  it("keeps the count of a day when the server's clock is set back by a second at midnight", () => {
    const state = charge(midnight, 2);
    const before = midnight - 1e6;
    expect(calendarWindow.isAhead?.(state, before, parametersAt(before))).toBe(false);
    expect(calendarWindow.step(state, before, 2, parametersAt(before))).toMatchObject({
      allowed: false,
      remaining: 1,
      retryAfter: 23 * hour + 1e6,
    });
  });

  it.each(['2024-03-29T23:00:00Z', '2023-03-31T11:00:00Z', '2020-02-29T11:00:00Z'])(
    'keeps a debt as many days ahead after the clock was set back to %s',
    (instant) => {
      const state = charge(midnight, 8, Infinity);
      const now = Date.parse(instant) * 1000;
      const parameters = parametersAt(now);
      const { coming, last } = parameters;
      const dueAt = (cost: number) => calendarWindow.step(state, now, cost, parameters);
      expect(dueAt(1)).toMatchObject({ allowed: false, retryAfter: last - now });
      expect(dueAt(2)).toMatchObject({ allowed: false, retryAfter: last + (last - coming) - now });
      const moved = dueAt(0) as { state: WindowState };
      expect(moved).toMatchObject({ state: { windows: 3, count: 2, written: now } });
      expect(calendarWindow.step(moved.state, last, 1, parametersAt(last))).toMatchObject({ remaining: 0 });
      expect(calendarWindow.step(moved.state, last, 2, parametersAt(last))).toMatchObject({ allowed: false });
    },
  );

  it('charges debt to the following days, once', () => {
    const state = charge(midnight, 8, Infinity);
    const dueAt = (now: number) => calendarWindow.step(state, now, 1, parametersAt(now));
    expect(dueAt(midnight)).toMatchObject({ allowed: false, retryAfter: 47 * hour });
    expect(dueAt(midnight + 23 * hour)).toMatchObject({ allowed: false, retryAfter: 24 * hour });
    expect(dueAt(midnight + 47 * hour)).toMatchObject({ allowed: true, remaining: 0 });
    expect(dueAt(midnight + 71 * hour)).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('keeps debt at least until the day that it is charged to, whatever the lengths of the days', () => {
    const start = Date.parse('2024-10-20T22:00:00Z') * 1000;
    const step = calendarWindow.step(undefined, start, 30, parametersAt(start), Infinity);
    const end = Date.parse('2024-10-30T23:00:00Z') * 1000;
    expect(step).toMatchObject({ allowed: true, resetAfter: 240 * hour });
    expect(start + (step.allowed ? step.expiresAfter : 0)).toBeGreaterThanOrEqual(end);
  });

  it('repays a debt month by month, however long the months are', () => {
    const rule = { limit: 3, window: 30 * DAY * 1000, calendar: 'month' } as const;
    const inMonth = calendarWindow.compileAt!(rule);
    const monthOf = (year: number, month: number) => Date.UTC(year, month, 10) * 1000;
    const start = monthOf(2023, 0);
    const step = calendarWindow.step(undefined, start, 3 * 20 + 1, inMonth(start), Infinity);
    const { state } = step as { state: WindowState };
    const remaining = Array.from({ length: 23 }, (_, month) => {
      const now = monthOf(2023, month);
      return calendarWindow.step(state, now, 0, inMonth(now)).remaining;
    });
    expect(remaining).toEqual([...new Array<number>(20).fill(0), 2, 3, 3]);
  });

  it('leaves a debt to the days that it was charged to when the limit is changed', () => {
    const state = charge(midnight, 8, Infinity);
    const larger = { ...parametersAt(midnight), limit: 100 };
    expect(calendarWindow.step(state, midnight, 1, larger)).toMatchObject({ retryAfter: 47 * hour });
    const third = { ...parametersAt(midnight + 47 * hour), limit: 100 };
    expect(calendarWindow.step(state, midnight + 47 * hour, 98, third)).toMatchObject({ allowed: true });
    expect(calendarWindow.step(state, midnight + 47 * hour, 1, { ...third, limit: 1 })).toMatchObject({
      allowed: false,
      retryAfter: 24 * hour,
    });
  });

  it('has a key with its word, its time zone and its first day', () => {
    const nameOf = (changes: object) =>
      compileRule({ ...{ algorithm: 'fixed-window', limit: 3, window: 'day' }, ...changes }).stateName;
    expect(nameOf({})).toBe('calendar-window2/day');
    expect(nameOf({ timeZone: 'Europe/Berlin' })).toBe('calendar-window2/day/Europe/Berlin');
    expect(nameOf({ window: 'month', anchor: 15 })).toBe('calendar-window2/month/15');
    expect(nameOf({ window: 'week', anchor: 1, timeZone: 'UTC' })).toBe('calendar-window2/week');
  });

  it('refunds a charge until the day ends', () => {
    const state = charge(midnight, 2);
    const tomorrow = midnight + 23 * hour;
    const refund = (now: number, receipt: number) =>
      calendarWindow.refund(state, now, 1, parametersAt(now), receipt, false);
    expect(refund(tomorrow - 1, tomorrow)).toEqual({
      state: { start: midnight, windows: 1, count: 1, written: tomorrow - 1 },
      expiresAfter: 1,
    });
    expect(refund(tomorrow, tomorrow)).toBeUndefined();
    expect(refund(midnight + hour, midnight)).toBeUndefined();
  });
});

describe('an invalid calendar window', () => {
  const daily = { algorithm: 'fixed-window', limit: 3, window: 'day' } as const;
  const DURATIONS =
    'an integer with a unit, such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days';

  it.each([
    [{ ...daily, timeZone: 'Europe/Atlantis' }, '.timeZone: got "Europe/Atlantis"; allowed: the IANA name'],
    [{ ...daily, timeZone: '+01:00' }, '.timeZone: got "+01:00"; allowed: the IANA name'],
    [{ ...daily, window: '1d', timeZone: 'UTC' }, ': timeZone is "UTC"; allowed: only with the window "day"'],
    [{ ...daily, window: '1d', anchor: 1 }, ': anchor is 1; allowed: only with the window "day", "week" or'],
    [{ ...daily, align: 'clock' }, ': align is "clock"; allowed: none with the window "day"'],
    [{ ...daily, anchor: 1 }, ': anchor is 1; allowed: none with the window "day"'],
    [
      { ...daily, window: 'week', anchor: 8 },
      ': anchor is 8; allowed with the window "week": an ISO weekday',
    ],
    [
      { ...daily, window: 'month', anchor: 0 },
      '.anchor: got 0; allowed: with the window "week" an ISO weekday',
    ],
    [{ ...daily, window: 'month', anchor: 29 }, '.anchor: got 29; allowed: with the window "week" an ISO'],
    [{ ...daily, window: 'month', anchor: 31 }, 'with "month" a day from 1 to 28'],
    [{ ...daily, window: 'year' }, `${DURATIONS}; or "day", "week", "month"`],
    [{ ...daily, window: undefined }, `.window: missing; allowed: ${DURATIONS}; or "day"`],
    [
      { ...daily, algorithm: 'gcra' },
      `.window: got "day": write "1d", or algorithm "fixed-window" for a calendar day; allowed: ${DURATIONS}`,
    ],
    [{ limit: 3, window: '1d', timeZone: 'UTC' }, '.timeZone: no such option of sliding-window-log'],
  ])('is rejected: %j', (rule, message) => {
    expect(() => compileRule(rule as Rule)).toThrow(message);
  });

  it.each<Rule>([
    { ...daily, window: 'week', anchor: 7, timeZone: 'America/New_York' },
    { ...daily, window: 'month', anchor: 28 },
    { ...daily, limit: 0 },
    { ...daily, timeZone: 'Asia/Kolkata', trial: { limit: 5 } },
  ])('is not rejected: %j', (rule) => {
    expect(() => compileRule(rule)).not.toThrow();
  });

  it('does not compile for an algorithm without calendar windows', () => {
    const refused: readonly Rule[] = [
      // @ts-expect-error GCRA has no windows
      { algorithm: 'gcra', limit: 3, window: 'day' },
      // @ts-expect-error the default algorithm slides
      { limit: 3, window: 'week' },
      // @ts-expect-error and so does a log
      { algorithm: 'sliding-window-log', limit: 3, window: '1d', timeZone: 'UTC' },
      // @ts-expect-error years are none
      { algorithm: 'fixed-window', limit: 3, window: 'year' },
    ];
    for (const rule of refused) expect(() => compileRule(rule)).toThrow(RateLimitConfigError);
  });
});
