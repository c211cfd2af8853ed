import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { durationFix, parseDuration } from './duration.js';

describe('durations', () => {
  it.each([
    ['1ms', 1000],
    ['250ms', 250_000],
    ['10s', 10e6],
    ['1m', 60e6],
    ['1h', 3600e6],
    ['1d', 86_400e6],
    ['1w', 604_800e6],
    ['366d', 366 * 86_400e6],
    ['007s', 7e6],
  ])('of %p have %d microseconds', (value, microseconds) => {
    expect(parseDuration(value)).toBe(microseconds);
  });

  it.each<unknown>([
    ...['', ' ', 's', '10', '10 s', ' 10s', '10s ', '10s\n', '10S', '10sec', '1x', '1m30s', '1s,', 'm1'],
    ...['-1s', '+1s', '1.5h', '1,5h', '1e3s', '0x10s', 'Infinitys', 'NaNms', '\u0661s', '\uff11s', '1\0s'],
    ...[
      '0s',
      '0ms',
      '367d',
      '53w',
      '99999999999999s',
      0,
      -0,
      -1,
      0.5,
      1,
      60,
      5000,
      366 * 86_400e3 + 1,
      NaN,
      Infinity,
    ],
    ...[null, undefined, true, 10n, {}, [], ['1s'], { valueOf: () => 1000 }, Symbol('1s'), () => '1s'],
  ])('do not include %p', (value) => {
    expect(parseDuration(value)).toBeUndefined();
  });

  it.each<[unknown, string | undefined]>([
    [60, 'write "60s" or "60ms"'],
    ['60', 'write "60s" or "60ms"'],
    [1500, 'write "1500s" or "1500ms"'],
    [5000, 'write "5s" or "5000s"'],
    [60_000, 'write "1m" or "60000s"'],
    [86_400_000, 'write "1d"'],
    [31_622_400_001, undefined],
    ...[0, '0', -60, 0.5, NaN, Infinity, '', ' 60', '1e3', null, {}].map((value): [unknown, undefined] => [
      value,
      undefined,
    ]),
  ])('are suggested for a number without a unit: %p', (value, fix) => {
    expect(durationFix(value)).toBe(fix);
  });

  it.each([
    ['1 minute', '"1m"'],
    ['60 seconds', '"60s"'],
    ['60 s', '"60s"'],
    ['1min', '"1m"'],
    ['1 hour', '"1h"'],
    ['2 hrs', '"2h"'],
    ['10S', '"10s"'],
    ['day', '"1d"'],
    ['hourly', '"1h"'],
    ['1 week', '"1w"'],
    ['1 month', '"30d"'],
    ['1 year', '"365d"'],
    ['1.5h', '"90m"'],
    ['0.5 s', '"500ms"'],
    ['1h30m', '"90m"'],
    [' 1m ', '"1m"'],
  ])('are suggested for another form: %p', (value, fix) => {
    expect(durationFix(value)).toBe(`write ${fix}`);
  });

  it.each(['x', '1x', '1 fortnight', '1m, 2m', 'P1D', '0 minutes', '2 years', 'm'.repeat(100)])(
    'are not suggested for a value that cannot be read as one: %p',
    (value) => {
      expect(durationFix(value)).toBeUndefined();
    },
  );

  it('are checked for their length before they are parsed', async () => {
    const garbage = ['1'.repeat(1_000_000) + 's', ' '.repeat(1_000_000), 's'.repeat(1_000_000)];
    // If each were parsed to its end, this would take minutes and time out.
    for (let time = 0; time < 300_000; time++) {
      if (parseDuration(garbage[time % 3]) !== undefined) throw new Error('taken for a duration');
      if (time % 1000 === 0) await setImmediate();
    }
  });
});
