import { describe, expect, it } from '@jest/globals';
import { clockedConsumer } from '../../../test/support/clocked-consumer.js';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { WindowState } from '../windows.js';
import { fixedWindow, type FixedWindowOptions } from './fixed-window.js';

const NOON = Date.UTC(2024, 0, 1, 12);

function threePerTenSeconds(options: FixedWindowOptions = {}) {
  return new Reference(fixedWindow, { limit: 3, window: 10e6, ...options });
}

describe('fixed-window, 3 per 10 s', () => {
  it('starts the windows of each client with its own first request', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       2000     1 | yes              2      0  10000
       6000     2 | yes              0      0   6000
      11999     1 | no               0      1      1
      12000     2 | yes              1      0  10000
      13000     2 | no               1   9000   9000
      13000     1 | yes              0      0   9000
      35000     1 | yes              2      0  10000
      `,
    );
  });

  it('starts every window at the same instant for all, if aligned to the clock', async () => {
    await expectTimeline(
      threePerTenSeconds({ align: 'clock' }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       2000     1 | yes              2      0   8000
       9999     3 | no               2      1      1
      10000     3 | yes              0      0  10000
      19999     1 | no               0      1      1
      20000     0 | yes              3      0      0
      `,
    );
  });

  it('allows up to twice the limit around the edge of two windows', async () => {
    await expectTimeline(
      threePerTenSeconds({ align: 'clock' }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       9999     3 | yes              0      0      1
      10000     3 | yes              0      0  10000
      `,
    );
  });

  it('reports that a cost can never fit, and starts no window for it', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     4 | no               3  never      0
       5000     1 | yes              2      0  10000
       5000     4 | no               2  never  10000
      `,
    );
  });
});

describe('a fixed window whose limit is changed', () => {
  const quota = { limit: 100, window: 10e6 } as const;

  it('counts what is used: 60 used of 100 is 60 used of 50, of 200, and of 100 again after 0', () => {
    const reference = new Reference(fixedWindow, quota);
    reference.hit(0, 60);
    const after = (limit: number, cost: number) => {
      reference.change({ ...quota, limit });
      return reference.peek(4e6, cost);
    };
    expect(after(50, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 6e6, resetAfter: 6e6 });
    expect(after(200, 140)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 6e6 });
    expect(after(0, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfter: null });
    expect(after(100, 41)).toMatchObject({ allowed: false, remaining: 40, retryAfter: 6e6 });
  });

  it('refunds what was charged under another limit', () => {
    const reference = new Reference(fixedWindow, quota);
    reference.hit(0, 60);
    expect(reference.refund(1e6, 50, 10e6)).toBe(true);
    reference.change({ ...quota, limit: 50 });
    expect(reference.peek(1e6, 0)).toMatchObject({ remaining: 40, resetAfter: 9e6 });
  });

  it('leaves a debt to the windows that it was charged to', () => {
    const reference = new Reference(fixedWindow, { ...quota, limit: 3 });
    reference.hit(0, 8, Infinity);
    expect(reference.peek(0, 2)).toMatchObject({ allowed: false, retryAfter: 30e6, resetAfter: 30e6 });
    expect(reference.peek(0, 1)).toMatchObject({ allowed: false, retryAfter: 20e6, resetAfter: 30e6 });
    reference.change(quota);
    expect(reference.peek(0, 1)).toMatchObject({ allowed: false, retryAfter: 20e6, resetAfter: 30e6 });
    expect(reference.peek(20e6, 98)).toMatchObject({ allowed: true, remaining: 0 });
    reference.change({ ...quota, limit: 1 });
    expect(reference.peek(20e6, 1)).toMatchObject({ allowed: false, retryAfter: 10e6 });
  });

  it.each(['first-hit', 'clock'] as const)(
    'allows no more than the larger limit in a window when two limits alternate (%s)',
    (align) => {
      const rule = { limit: 100, window: 3600e6, align };
      const reference = new Reference(fixedWindow, rule);
      let allowed = 0;
      for (let second = 0; second < 3600; second += 1) {
        reference.change({ ...rule, limit: second % 2 === 0 ? 100 : 1 });
        if (reference.hit(second * 1e6, 1).allowed) allowed += 1;
      }
      expect(allowed).toBe(100);
    },
  );

  it('has a key with its window and its alignment, whatever its limit', () => {
    const nameOf = (changes: object) =>
      compileRule({ ...{ algorithm: 'fixed-window', limit: 3, window: '10s' }, ...changes }).stateName;
    expect(nameOf({})).toBe('fixed-window2/10000');
    expect(nameOf({ align: 'first-hit', limit: 0 })).toBe('fixed-window2/10000');
    expect(nameOf({ align: 'clock', window: '1m' })).toBe('fixed-window2/60000/clock');
  });
});

describe('a fixed window when the clock is set back', () => {
  const rule = { algorithm: 'fixed-window', limit: 3, window: '10s' } as const;
  const STEPS = [
    ['a minute', 60_000],
    ['ten hours', 36_000_000],
    ['a year', 365 * 86_400_000],
  ] as const;

  it.each(STEPS)('ends as much later as when it was last written, for %s', async (_, step) => {
    await expectTimeline(
      clockedConsumer(rule, NOON),
      `
              at  cost | allowed  remaining  retry  reset
               0     2 | yes              1      0  10000
            4000     1 | yes              0      0   6000
      ${6000 - step} 1 | no               0   6000   6000
     ${11_999 - step} 1 | no              0      1      1
     ${12_000 - step} 3 | yes             0      0  10000
      `,
    );
  });

  it.each(STEPS)('counts in the window of the clock if it is aligned to that, for %s', async (_, step) => {
    await expectTimeline(
      clockedConsumer({ ...rule, align: 'clock' }, NOON),
      `
              at  cost | allowed  remaining  retry  reset
            2000     3 | yes              0      0   8000
      ${6000 - step} 1 | no               0   4000   4000
      ${9999 - step} 1 | no               0      1      1
     ${10_000 - step} 3 | yes             0      0  10000
      `,
    );
  });

  it('decides as if no time had passed if the step is shorter than a second', async () => {
    await expectTimeline(
      clockedConsumer({ ...rule, align: 'clock' }, NOON),
      `
          at  cost | allowed  remaining  retry  reset
           0     2 | yes              1      0  10000
        -999     2 | no               1  10999  10999
        -999     1 | yes              0      0  10999
       -1000     1 | no               0  11000  11000
           0     1 | no               0  10000  10000
       10000     3 | yes              0      0  10000
      `,
    );
  });

  it.each(['first-hit', 'clock'] as const)(
    'allows at most one more limit for each jump forward of a clock that jumps to and fro (%s)',
    async (align) => {
      const consume = clockedConsumer({ ...rule, align }, NOON);
      let allowed = 0;
      for (let jump = 0; jump < 20; jump += 1) {
        const ahead = jump % 2 === 0 ? 0 : 3_600_000;
        for (let hit = 0; hit < 5; hit += 1) {
          if ((await consume(ahead + jump * 10 + hit, 1)).allowed) allowed += 1;
        }
      }
      expect(allowed).toBe(3 + 10 * 3);
    },
  );

  it('keeps a debt as many windows ahead', () => {
    const taken: WindowState = { start: NOON * 1000, windows: 3, count: 2, written: NOON * 1000 + 1e6 };
    const back = NOON * 1000 - 3600e6 + 4e6;
    for (const [align, retryAfter] of [
      ['first-hit', 19e6],
      ['clock', 16e6],
    ] as const) {
      const parameters = fixedWindow.compile({ limit: 3, window: 10e6, align });
      expect(fixedWindow.isAhead?.(taken, back, parameters)).toBe(true);
      expect(fixedWindow.step(taken, back, 1, parameters)).toMatchObject({ allowed: false, retryAfter });
      expect(fixedWindow.step(taken, back, 0, parameters)).toMatchObject({
        state: { windows: 3, count: 2, written: back },
        expiresAfter: retryAfter + 10e6,
      });
      expect(fixedWindow.isAhead?.(taken, NOON * 1000, parameters)).toBe(false);
    }
  });
});
