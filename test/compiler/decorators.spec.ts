import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { errorsIn } from './errors-in.js';

const UNIT = 'a duration needs a unit, such as 60s';

const ALGORITHMS = Object.keys(algorithms)
  .map((name) => `"${name}"`)
  .join(' | ');

const noRule = (type: string): string =>
  `Argument of type '${type}' is not assignable to parameter of type '"did you mean @RateLimit('1m', 100)? A decorator takes one rule, in parentheses"'.`;

/** Decorators that do not compile: the code, and the text of the compiler. */
const WRONG: readonly (readonly [code: string, text: string])[] = [
  [
    `RateLimit({ window: '1m', limit: 5, burst: 10 })`,
    `Type 'number' is not assignable to type '"burst is an option of another algorithm: set algorithm as well"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', align: 'clock' })`,
    `Type '"clock"' is not assignable to type '"gcra has no option align"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'token-bucket', warmUp: '5s', burst: 10 })`,
    `Type 'number' is not assignable to type '"burst cannot be combined with warmUp"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'concurrency' })`,
    `Type '"1m"' is not assignable to type '"concurrency has no window"'.`,
  ],
  [
    `RateLimit({ window: 'day', limit: 5 })`,
    `Type '"day"' is not assignable to type '"day is a window of fixed-window only"'.`,
  ],
  [`RateLimit({ window: 60, limit: 5 })`, `Type 'number' is not assignable to type '"${UNIT}"'.`],
  [`RateLimit({ window: '60', limit: 5 })`, `Type '"60"' is not assignable to type '"${UNIT}"'.`],
  [`RateLimit({ window: () => 60, limit: 5 })`, `Type '() => number' is not assignable to type '"${UNIT}"'.`],
  [
    `RateLimit({ window: '1m', limit: 5, block: '5 minutes' })`,
    `Type '"5 minutes"' is not assignable to type '"${UNIT}"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, bust: 10 })`,
    "Object literal may only specify known properties, but 'bust' does not exist in type 'DecoratedRule'. Did you mean to write 'burst'?",
  ],
  [
    `RateLimit({ window: '1m', limit: '5' })`,
    `Type 'string' is not assignable to type 'PerRequest<number>'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, mode: 'observe' })`,
    `Type '"observe"' is not assignable to type '"enforce" | "shadow"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', burst: '10' })`,
    `Type '"10"' is not assignable to type 'Capacity | undefined'.`,
  ],
  [`RateLimit('1m')`, `Expected 2-4 arguments, but got 1.`],
  [`RateLimit('1m', '5')`, `Argument of type 'string' is not assignable to parameter of type 'number'.`],
  [
    `RateLimit('1m', 5, 'gcar')`,
    `Argument of type '"gcar"' is not assignable to parameter of type '${ALGORITHMS} | undefined'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcar' })`,
    `Type '"gcar"' is not assignable to type '${ALGORITHMS}'.`,
  ],
  [
    `RateLimit('1m', 5, 'gcra', { limit: 3 })`,
    `Object literal may only specify known properties, and 'limit' does not exist in type 'PositionalFields'.`,
  ],
  [
    `RateLimit('1m', 5, 'gcra', { burst: 3 })`,
    `Object literal may only specify known properties, and 'burst' does not exist in type 'PositionalFields'.`,
  ],
  [`RateLimit('login', 5)`, noRule('5')],
  [`RateLimit('60', 100)`, noRule('100')],
  [`RateLimit('60', 100, 'gcra')`, noRule('100')],
  [`RateLimit('login', {}, 'gcra')`, noRule('"gcra"')],
  [`RateLimit([{ window: '1m', limit: 5 }])`, noRule('{ window: string; limit: number; }[]')],
  [`RateLimit(5)`, noRule('5')],
  [`RateLimit(100, '1m')`, noRule('100')],
  [
    `RateLimit('1m', 100, { by: 'user' })`,
    `Argument of type '{ by: string; }' is not assignable to parameter of type '"did you mean @RateLimit({ window, limit, ... })? The third argument is the algorithm"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', share: {}, alerts: [0.8] })`,
    `Type 'number[]' is not assignable to type '"a rule with share or prefetch has no alerts"'.`,
  ],
  [
    `RateLimit('login', { burst: 5 })`,
    `Type 'number' is not assignable to type '"burst is an option of another algorithm: set algorithm as well"'.`,
  ],
  [
    `RateLimit({ limit: 5, algorithm: 'concurrency', settle: () => 1, maxWait: '1s' })`,
    `Type '() => number' is not assignable to type '"concurrency has no settle"'.`,
  ],
  [
    `RateLimit({ limit: 5, algorithm: 'concurrency', alerts: [1] })`,
    `Type 'number[]' is not assignable to type '"concurrency has no alerts"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', share: {}, alerts: [1] })`,
    `Type 'number[]' is not assignable to type '"a rule with share or prefetch has no alerts"'.`,
  ],
  [
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', prefetch: { permits: 2 }, alerts: [1] })`,
    `Type 'number[]' is not assignable to type '"a rule with share or prefetch has no alerts"'.`,
  ],
  [`RateLimit('login', { window: '60' })`, `Type '"60"' is not assignable to type '"${UNIT}"'.`],
  [`RateLimit({ window: '1m', limit: 5 }, { limit: 3 })`, `Expected 1 arguments, but got 2.`],
];

/** Decorators that compile. What the compiler cannot know is checked when the application starts. */
const RIGHT: readonly string[] = [
  `RateLimit({ window: '1m', limit: 5 })`,
  `RateLimit({ limit: 5 })`,
  `RateLimit({ window: '1m', limit: 5, algorithm: 'token-bucket', burst: 10, refill: 'interval' })`,
  `RateLimit({ window: '1m', limit: 5, algorithm: 'token-bucket', warmUp: '5s' })`,
  `RateLimit({ window: 'day', limit: 5, algorithm: 'fixed-window', timeZone: 'Europe/Berlin' })`,
  `RateLimit({ limit: 5, algorithm: 'concurrency', lease: '10s' })`,
  `RateLimit({ window: '1m', limit: 5, block: 'manual' })`,
  `RateLimit({ window: () => '1m', limit: async (context) => context.getArgs().length })`,
  `RateLimit({ window: (context) => (context.getType() === 'ws' ? '1m' : '1h'), limit: 5 })`,
  `RateLimit({ window: async (context) => context.getClass().name, limit: (context) => context.getArgs().length, algorithm: 'gcra', burst: 4 })`,
  `RateLimit({ window: '1m', limit: 5, by: ['ip', (context) => context.getClass().name] })`,
  `RateLimit({ window: '1m', limit: 5, cost: 3, settle: (result: { usage: number }) => result.usage, onError: 'refund' })`,
  `RateLimit('1m', 5, 'gcra', { settle: (result: { usage: number | null }, _context, total) => result.usage ?? total })`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, settle: (result: string) => result.length } } })`,
  `RateLimit('1m', 5)`,
  `RateLimit('1m', 5, 'gcra', { by: 'user', name: 'api' })`,
  `RateLimit('login')`,
  `RateLimit('login', { limit: 5, skipIf: (context) => context.getType() === 'ws' })`,
  `RateLimit(configured)`,
  `RateLimit({ ...configured, algorithm: 'gcra', burst: 10 })`,
  `RateLimit(typed)`,
  `RateLimit('login', typed)`,
  `RateLimit({})`,
  `RateLimit({ window: '1m', limit: 5, alerts: [0.8] })`,
  `RateLimit(word, 5)`,
  `RateLimit(word, { limit: 5 })`,
  `RateLimitModule.forRoot({ rules: { default: configured } })`,
  `limiter.consume({ window: '1m', limit: 5 }, 42)`,
  `limiter.consume({ window: '1m', limit: 5, algorithm: 'gcra', burst: 9, alerts: [0.8, 1] }, 42)`,
  `limiter.consume({ window: '1m', limit: 5, algorithm: 'gcra', burst: 9, prefetch: { permits: 2 } }, 42)`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, alerts: [0.8, 1] } } })`,
  `RateLimit({ window: '1m', limit: 5, algorithm: 'token-bucket', alerts: [0.8, 1] })`,
  `limiter.consume({ window: '1m', limit: 5 }, ['203.0.113.7', 42])`,
];

/** Rules of modules and programs that do not compile. */
const REFUSED: readonly string[] = [
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, burst: 10 } } })`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, algorithm: 'gcra', align: 'clock' } } })`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, algorithm: 'concurrency' } } })`,
  `RateLimitModule.forRoot({ rules: { default: { limit: 5, algorithm: 'concurrency', settle: () => 1 } } })`,
  `RateLimitModule.forRoot({ rules: { default: { limit: 5, algorithm: 'concurrency', onError: 'refund' } } })`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, settle: () => 'five' } } })`,
  `RateLimitModule.forRoot({ rules: { default: { window: 60, limit: 5 } } })`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, algorithm: 'gcra', share: {}, alerts: [1] } } })`,
  `RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 5, algorithm: 'gcra', prefetch: { permits: 2 }, alerts: [1] } } })`,
  `RateLimitModule.forRoot({ rules: { default: { limit: 5, algorithm: 'concurrency', alerts: [1] } } })`,
  `limiter.consume({ window: '1m', limit: 5, algorithm: 'gcra', prefetch: { permits: 2 }, alerts: [1] }, 'me')`,
  `limiter.consume({ window: '1m', limit: 5, algorithm: 'gcra', share: {}, alerts: [1] }, 'me')`,
  `limiter.consume({ window: '1m', limit: 5, burst: 10 }, 'me')`,
  `limiter.consume({ window: '1m', limit: 5, algorithm: 'token-bucket', burst: 10, warmUp: '5s' }, 'me')`,
  `limiter.consume({ window: '60', limit: 5 }, 'me')`,
  `limiter.hold({ window: '1m', limit: 5, algorithm: 'concurrency' }, 'me')`,
];

describe('the types of rules', () => {
  const errors = errorsIn([...WRONG.map(([code]) => code), ...RIGHT, ...REFUSED]);

  it.each(WRONG)('%s does not compile, and the error is one line', (code, text) => {
    expect(errors.get(code)).toEqual([text]);
  });

  it.each(RIGHT)('%s compiles', (code) => {
    expect(errors.get(code)).toEqual([]);
  });

  it.each(REFUSED)('%s does not compile', (code) => {
    expect(errors.get(code)).toHaveLength(1);
  });
});

// Applications of older versions of Nest have neither `strict` nor `strictNullChecks`.
it('decorators compile in an application without strict', () => {
  const correct = [
    `RateLimit({ window: '1m', limit: 5 })`,
    `RateLimit({ window: '1m', limit: 5, block: '5s', by: 'user' })`,
    `RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', burst: 10 })`,
    `RateLimit({ limit: 5, algorithm: 'concurrency' })`,
    `RateLimit('1m', 5, 'gcra', { by: 'user' })`,
    `RateLimit('login', { limit: 3 })`,
  ];
  const options = { strict: false, exactOptionalPropertyTypes: false, noUnusedLocals: false };
  const errors = errorsIn(correct, undefined, options);
  expect([...errors].filter(([, texts]) => texts.length > 0)).toEqual([]);
  const wrong = `RateLimit({ window: '1m', limit: 5, algorithm: 'concurrency' })`;
  expect(errorsIn([wrong], undefined, options).get(wrong)).toHaveLength(1);
});
