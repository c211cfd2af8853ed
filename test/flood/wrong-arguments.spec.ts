import { describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimitConfigError, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Dice } from './dice.js';

const store = new MemoryStore();
const limiter = new RateLimiter({ store });
const RULE: Rule = { algorithm: 'gcra', limit: 1000, window: '1w' };
const dice = new Dice(1);
const times = <Each>(count: number, make: () => Each): Each[] => Array.from({ length: count }, make);

const NO_VALUES: readonly unknown[] = [null, true, false, {}, [], [NaN], 1n, () => 1, new Date(0)];

const WRONG_COSTS: readonly unknown[] = [
  ...NO_VALUES,
  ...[NaN, Infinity, -Infinity, Number.MIN_VALUE, 1e9 + 1, 2 ** 53, Number.MAX_VALUE, '', '-1', '1e3', ' 1'],
  ...times(1000, () => -1 - dice.below(2 ** 31)),
  ...times(1000, () => dice.below(1e9) + 0.5),
  ...times(1000, () => 1e9 + 1 + dice.below(2 ** 31)),
  ...times(1000, () => `${dice.below(1000)}.5`),
];

const WRONG_SUBJECTS: readonly unknown[] = [
  ...NO_VALUES,
  undefined,
  Infinity,
  NaN,
  [null],
  ['a', undefined],
  [['a']],
  { length: 1 },
];

const WRONG_NAMES: readonly unknown[] = [
  ...NO_VALUES,
  ...['', 'a\r\nSet-Cookie: a=b', '\0', '\x7f', '\u00e9', '\ud800', '\u{1f600}', 'n'.repeat(65)],
  ...times(1000, () => `a${String.fromCharCode(127 + dice.below(0xff80))}`),
  ...times(100, () => `a${String.fromCharCode(dice.below(32))}`),
];

const refusal = async (call: () => Promise<unknown>) => {
  try {
    await call();
    return 'none';
  } catch (error) {
    return error instanceof RateLimitConfigError ? 'RateLimitConfigError' : String(error);
  }
};

describe('invalid arguments', () => {
  const refused = ['RateLimitConfigError'];
  const refusals = async (values: readonly unknown[], call: (value: never) => Promise<unknown>) => [
    ...new Set(await Promise.all(values.map((value) => refusal(() => call(value as never))))),
  ];

  it('every operation rejects an invalid cost and charges nothing', async () => {
    const operations: Record<string, (cost: never) => Promise<unknown>> = {
      consume: (cost) => limiter.consume(RULE, 'ann', { cost }),
      peek: (cost) => limiter.peek(RULE, 'ann', { cost }),
      reserve: (cost) => limiter.reserve(RULE, 'ann', { cost }),
      acquire: (cost) => limiter.acquire(RULE, 'ann', { cost }),
    };
    for (const [operation, call] of Object.entries(operations)) {
      expect([operation, await refusals(WRONG_COSTS, call)]).toEqual([operation, refused]);
    }
    const { remaining } = await limiter.peek(RULE, 'ann', { cost: 0 });
    expect(remaining).toBe(1000);
  });

  it('every operation rejects an invalid subject', async () => {
    expect(await refusals(WRONG_SUBJECTS, (subject) => limiter.consume(RULE, subject))).toEqual(refused);
    expect(store.size).toBe(0);
  });

  it('every operation rejects an invalid rule name', async () => {
    const call = (name: never) => limiter.consume({ ...RULE, name }, 'ann');
    expect(await refusals(WRONG_NAMES, call)).toEqual(refused);
    expect(store.size).toBe(0);
  });
});
