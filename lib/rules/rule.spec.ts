import { describe, expect, it } from '@jest/globals';
import { FOR_LARGE_LIMITS } from '../algorithms/known.js';
import { algorithms } from '../algorithms/registry.js';
import { compileRule } from './compile-rule.js';
import { RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { Rule } from './rule.js';

const COUNT = 'an integer from 0 to 1000000000';
const WINDOW = 'an integer with a unit, such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days';
const ALGORITHMS = Object.keys(algorithms)
  .map((name) => `"${name}"`)
  .join(', ');
const FIELDS = 'limit, cost, unit, block, mode, per, onStoreError, maxWait, trial, alerts';
const BURST = 'an integer from 1 to 1000000000, or the time in which the limit adds them, such as "10s"';
const sound = { name: 'login', limit: 5, window: '1m' };

/** Returns all problems of a rule. */
function problemsOf(rule: object): readonly string[] {
  try {
    compileRule(rule as Rule);
  } catch (error) {
    if (error instanceof RateLimitConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('an invalid rule', () => {
  it.each<[object, string]>([
    [{ limit: -1 }, `rule "login".limit: got -1; allowed: ${COUNT}`],
    [{ limit: 1.5 }, `rule "login".limit: got 1.5; allowed: ${COUNT}`],
    [{ limit: 'five' }, `rule "login".limit: got "five"; allowed: ${COUNT}`],
    [{ limit: NaN }, `rule "login".limit: got NaN; allowed: ${COUNT}`],
    [{ limit: Infinity }, `rule "login".limit: got Infinity; allowed: ${COUNT}`],
    [{ limit: 1e9 + 1 }, `rule "login".limit: got 1000000001; allowed: ${COUNT}`],
    [{ limit: null }, `rule "login".limit: got null; allowed: ${COUNT}`],
    [{ limit: undefined }, `rule "login".limit: missing; allowed: ${COUNT}`],
    [{ limit: () => 5 }, `rule "login".limit: got a function; allowed: ${COUNT}`],
    [
      { limit: 10_001 },
      `rule "login".limit: got 10001; allowed without an algorithm: at most 10000, since sliding-window-log stores an entry for each permit; choose ${FOR_LARGE_LIMITS} as its algorithm`,
    ],
    [{ window: '1x' }, `rule "login".window: got "1x"; allowed: ${WINDOW}`],
    [{ window: 0 }, `rule "login".window: got 0; allowed: ${WINDOW}`],
    [{ window: 60 }, `rule "login".window: got 60: write "60s" or "60ms"; allowed: ${WINDOW}`],
    [{ window: '60' }, `rule "login".window: got "60": write "60s" or "60ms"; allowed: ${WINDOW}`],
    [{ window: 1e9 }, `rule "login".window: got 1000000000: write "1000000s"; allowed: ${WINDOW}`],
    [{ window: 0.5 }, `rule "login".window: got 0.5; allowed: ${WINDOW}`],
    [{ block: 5000 }, `rule "login".block: got 5000: write "5s" or "5000s"; allowed: ${WINDOW}; or "manual"`],
    [
      { algorithm: 'gcra', prefetch: { permits: 2, ttl: 500 } },
      `rule "login".prefetch: got {"permits":2,"ttl":500}: write "500s" or "500ms" for its ttl; allowed: { permits: an integer from 2 to 1000000, ttl: ${WINDOW} }`,
    ],
    [
      { algorithm: 'leaky-bucket', maxWait: 250 },
      `rule "login".maxWait: got 250: write "250s" or "250ms"; allowed: ${WINDOW}`,
    ],
    [
      { algorithm: 'token-bucket', warmUp: 30 },
      `rule "login".warmUp: got 30: write "30s" or "30ms"; allowed: ${WINDOW}`,
    ],
    [
      { algorithm: 'concurrency', window: undefined, lease: 30_000 },
      `rule "login".lease: got 30000: write "30s" or "30000s"; allowed: ${WINDOW}`,
    ],
    [
      { trial: { window: 60 } },
      `rule "login".trial.window: got 60: write "60s" or "60ms"; allowed: ${WINDOW}`,
    ],
    [
      { algorithm: 'fixed-window', window: 30 },
      `rule "login".window: got 30: write "30s" or "30ms"; allowed: ${WINDOW}; or "day", "week", "month"`,
    ],
    [{ window: undefined }, `rule "login".window: missing; allowed: ${WINDOW}`],
    [{ cost: -1 }, `rule "login".cost: got -1; allowed: ${COUNT}`],
    [
      { cost: 6 },
      `rule "login".cost: got 6; allowed: at most 5, the maximum number of permits taken at once`,
    ],
    [{ algorithm: 'leaky' }, `rule "login".algorithm: got "leaky"; allowed: ${ALGORITHMS}`],
    [{ algorithm: '__proto__' }, `rule "login".algorithm: got "__proto__"; allowed: ${ALGORITHMS}`],
    [{ algorithm: 'toString' }, `rule "login".algorithm: got "toString"; allowed: ${ALGORITHMS}`],
    [{ algorithm: null }, `rule "login".algorithm: got null; allowed: ${ALGORITHMS}`],
    [{ algorithm: 'gcra', burst: 0 }, `rule "login".burst: got 0; allowed: ${BURST}`],
    [{ algorithm: 'token-bucket', burst: 1.5 }, `rule "login".burst: got 1.5; allowed: ${BURST}`],
    [
      { algorithm: 'fixed-window', align: 'utc' },
      `rule "login".align: got "utc"; allowed: "first-hit", "clock"`,
    ],
    [
      { algorithm: 'gcra', limit: 1e9, burst: 1e9 },
      'rule "login": limit 1000000000 is too large: the maximum with burst equal to limit is 94906265',
    ],
    [
      { algorithm: 'gcra', limit: 1, window: '1d', burst: 3661 },
      'rule "login": a burst of 3661 takes 3661 days to come back; allowed: at most 3660',
    ],
    [
      { algorithm: 'token-bucket', burst: 2, cost: 3 },
      'rule "login".cost: got 3; allowed: at most 2, the maximum number of permits taken at once',
    ],
  ])('is rejected with one message: %p', (fields, problem) => {
    expect(problemsOf({ ...sound, ...fields })).toEqual([problem]);
  });

  it.each([
    [
      { algorithm: 'fixed-window', burst: 2 },
      'burst',
      `fixed-window; token-bucket and gcra have it`,
      ', align, timeZone, anchor, prefetch',
    ],
    [
      { algorithm: 'gcra', align: 'clock' },
      'align',
      'gcra; fixed-window has it',
      ', burst, overdraft, share, prefetch',
    ],
    [{ constructor: 5 }, 'constructor', 'sliding-window-log, the default algorithm', ''],
  ])(
    'is rejected for an option that its algorithm does not have: %p',
    (fields, option, algorithm, options) => {
      expect(problemsOf({ ...sound, ...fields })).toEqual([
        `rule "login".${option}: no such option of ${algorithm}; allowed: name, algorithm, ${FIELDS}${options}, window`,
      ]);
    },
  );

  it('is rejected for a misspelled field, with the field that was probably meant', () => {
    const [problem] = problemsOf({ ...sound, limt: 5 });
    expect(problem).toMatch(/^rule "login".limt: no such option .*: did you mean "limit"\?; allowed: name, /);
  });

  it.each(['', 'a\r\nSet-Cookie: b', 'caf\u00e9', '\u{1f600}', 'a\tb', 'x'.repeat(65), 5])(
    'is rejected for a name that cannot be sent in a header: %j',
    (name) => {
      const [problem] = problemsOf({ ...sound, name });
      expect(problem).toMatch(
        /name: got .+; allowed: 1 to 64 printable ASCII characters, and no duration such as "1m"$/,
      );
    },
  );

  it('is rejected with all its problems in one error', () => {
    expect(() => compileRule({ limit: -1, window: '1x', cost: 0.5 } as unknown as Rule)).toThrow(
      [
        'Rate limit configuration is wrong:',
        `  - rule "default".limit: got -1; allowed: ${COUNT}`,
        `  - rule "default".window: got "1x"; allowed: ${WINDOW}`,
        `  - rule "default".cost: got 0.5; allowed: ${COUNT}`,
      ].join('\n'),
    );
  });

  it('is rejected with a message that shortens a long value', () => {
    const [problem] = problemsOf({ ...sound, window: 'x'.repeat(1_000_000) });
    expect(problem).toBe(`rule "login".window: got "${'x'.repeat(79)}\u2026; allowed: ${WINDOW}`);
  });
});

describe('a valid rule', () => {
  it.each<[Rule, { capacity: number; capacityWindowMs: number }]>([
    [
      { limit: 5, window: '1m' },
      { capacity: 5, capacityWindowMs: 60_000 },
    ],
    [
      { limit: 0, window: '1m' },
      { capacity: 0, capacityWindowMs: 60_000 },
    ],
    [
      { limit: 1e9, window: '366d', algorithm: 'sliding-window-counter' },
      { capacity: 1e9, capacityWindowMs: 366 * 86_400_000 },
    ],
    [
      { limit: 5, window: '1s', algorithm: 'gcra', burst: 12 },
      { capacity: 12, capacityWindowMs: 2400 },
    ],
    [
      { limit: 3, window: '7s', algorithm: 'token-bucket', burst: 1 },
      { capacity: 1, capacityWindowMs: 2334 },
    ],
    [
      { limit: 0, window: '1m', algorithm: 'gcra', burst: 3, cost: 9 },
      { capacity: 0, capacityWindowMs: 60_000 },
    ],
  ])('compiles to its capacity, and the time in which that is refilled: %j', (rule, amounts) => {
    expect(compileRule(rule)).toMatchObject(amounts);
  });

  it.each<[object, object, object]>([
    [{ limit: '5' }, { limit: 5 }, { capacity: 5 }],
    [{ limit: '007' }, { limit: 7 }, { capacity: 7 }],
    [{ cost: '2' }, { cost: 2 }, { cost: 2 }],
    [{ algorithm: 'gcra', burst: '12' }, { algorithm: 'gcra', burst: 12 }, { capacity: 12 }],
    [
      { algorithm: 'sliding-window-cells', cells: '4' },
      { algorithm: 'sliding-window-cells', cells: 4 },
      { parameters: { cells: 4 } },
    ],
    [
      { algorithm: 'token-bucket', initial: '1' },
      { algorithm: 'token-bucket', initial: 1 },
      { parameters: { empty: 48e6 } },
    ],
    [
      { algorithm: 'leaky-bucket', queue: '3', delayAfter: '2' },
      { algorithm: 'leaky-bucket', queue: 3, delayAfter: 2 },
      { capacity: 4 },
    ],
    [
      { algorithm: 'fixed-window', window: 'month', anchor: '15' },
      { algorithm: 'fixed-window', window: 'month', anchor: 15 },
      {},
    ],
    [
      { algorithm: 'gcra', prefetch: { permits: '3' } },
      { algorithm: 'gcra', prefetch: { permits: 3 } },
      { prefetch: { permits: 3 } },
    ],
    [{ trial: { limit: '9' } }, { trial: { limit: 9 } }, { trial: { capacity: 9 } }],
  ])('accepts counts as strings of digits: %j', (text, numbers, compiled) => {
    const ofText = compileRule({ ...sound, ...text } as Rule);
    expect(ofText).toMatchObject(compiled);
    expect(JSON.stringify(ofText)).toBe(JSON.stringify(compileRule({ ...sound, ...numbers } as Rule)));
  });

  it.each(['1e3', '0x10', ' 5', '5 ', '5.0', '+5', '-1', '', '٥', '5_000', '1'.repeat(17)])(
    'accepts no other string as a count: %j',
    (text) => {
      const fields = { limit: text, cost: text };
      expect(problemsOf({ ...sound, ...fields, algorithm: 'gcra', burst: text })).toEqual([
        `rule "login".limit: got ${JSON.stringify(text)}; allowed: ${COUNT}`,
        `rule "login".cost: got ${JSON.stringify(text)}; allowed: ${COUNT}`,
        `rule "login".burst: got ${JSON.stringify(text)}; allowed: ${BURST}`,
      ]);
    },
  );

  it('is by default a sliding window log of cost 1 named default', () => {
    expect(compileRule({ limit: 5, window: '1m' })).toMatchObject({
      name: 'default',
      cost: 1,
      algorithm: { name: 'sliding-window-log' },
    });
  });
});
