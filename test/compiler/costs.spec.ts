import { describe, expect, it } from '@jest/globals';
import { errorsIn } from './errors-in.js';

const PREAMBLE = [
  `import type { RateLimitService, Reservation, Rule } from '../../lib/index.js';`,
  `import type { RateLimiter } from '../../lib/limiter.js';`,
  `declare const limiter: RateLimiter;`,
  `declare const limits: RateLimitService;`,
  `declare const tokens: { name: 'tokens'; window: '1m'; limit: number };`,
  `declare const requests: { name: 'requests'; window: '1m'; limit: number };`,
  `declare const streams: { name: 'streams'; algorithm: 'concurrency'; limit: number };`,
  `declare const usage: number | null | undefined;`,
  `declare const rule: Rule;`,
  `declare const rules: readonly Rule[];`,
  `declare const either: Rule | readonly Rule[];`,
  `declare const names: readonly string[];`,
  `declare const isPaid: boolean;`,
  `class Llm { chat() {} }`,
  `const keep = (reservation: Promise<Reservation>) => reservation;`,
  `void [limiter, limits, tokens, requests, rule, rules, either, names, isPaid, Llm, keep, streams, usage];`,
];

/** The names of both rules: the compiler may print them in any order. */
const BOTH = `Readonly<Partial<Record<NAMES, number>>>`;
const UNKNOWN = `Object literal may only specify known properties, but 'tokns' does not exist in type '${BOTH}'. Did you mean to write 'tokens'?`;
const NO_NUMBER = (type: string) => `Type '${type}' has no properties in common with type '${BOTH}'.`;

/** Calls that do not compile: the code, and the text of the compiler. */
const WRONG: readonly (readonly [code: string, text: string])[] = [
  [`limiter.reserve([tokens, requests], 'me')`, 'Expected 3 arguments, but got 2.'],
  [`limits.reserve(['tokens', 'requests'], 'me')`, 'Expected 3 arguments, but got 2.'],
  [`limiter.reserve([tokens, requests], 'me', { cost: 5 })`, NO_NUMBER('number')],
  [`limits.reserve(['tokens', 'requests'], 'me', { cost: 5 })`, NO_NUMBER('number')],
  [
    `limits.reserve(['tokens', { route: [Llm, 'chat'], rule: 'requests' }], 'me', { cost: 5 })`,
    NO_NUMBER('number'),
  ],
  [`limiter.reserve([tokens, requests], 'me', { cost: { tokns: 5 } })`, UNKNOWN],
  [`limits.reserve(['tokens', 'requests'], 'me', { cost: { tokns: 5 } })`, UNKNOWN],
  [`limits.consume(['tokens', 'requests'], 'me', { cost: { tokns: 5 } })`, UNKNOWN],
  [`limiter.peek([tokens, requests], 'me', { cost: { tokns: 5 } })`, UNKNOWN],
  [
    `limits.reserve(['tokens', 'requests'], 'me', { settles: 'tokns' })`,
    `Type '"tokns"' is not assignable to type 'NAMES'. Did you mean '"tokens"'?`,
  ],
  [
    `limits.reserve('tokens', 'me', { settles: 'requests' })`,
    `Type '"requests"' is not assignable to type '"tokens"'.`,
  ],
  [
    `limits.reserve(['tokens', 'requests'], 'me', { cost: { tokens: 5 } }).then((it) => it.settle(5))`,
    NO_NUMBER('5'),
  ],
  [
    `limits.reserve(['tokens', 'requests'], 'me', { settles: 'tokens' }).then((it) => it.settle({ tokns: 5 }))`,
    UNKNOWN,
  ],
  [
    `limits.acquire('tokens', 'me', { cost: { tokens: 5 } })`,
    `Type '{ tokens: number; }' is not assignable to type 'number'.`,
  ],
];

/** Calls that compile. What the compiler cannot know is checked before the work. */
const RIGHT: readonly string[] = [
  `limiter.reserve([tokens, requests], 'me', { cost: { tokens: 5 } }).then((it) => it.settle({ tokens: 4, requests: 2 }))`,
  `limiter.reserve([tokens, requests], 'me', { settles: 'tokens', cost: 5 }).then((it) => it.settle(4))`,
  `limits.reserve(['tokens', 'requests'], 'me', { settles: 'tokens' }).then((it) => it.settle({ requests: 4 }))`,
  `limits.reserve('tokens', 'me', { cost: 5 }).then((it) => it.settle(4))`,
  `limits.reserve(['tokens'], 'me', { cost: 5 }).then((it) => it.settle(4))`,
  `limits.reserve(isPaid ? 'tokens' : 'requests', 'me', { cost: 5 }).then((it) => it.settle(4))`,
  `limiter.reserve(isPaid ? tokens : requests, 'me', { cost: 5 }).then((it) => it.settle(4))`,
  `limiter.reserve({ window: '1m', limit: 5 }, 'me', { cost: { default: 5 } })`,
  `limits.reserve({ route: [Llm, 'chat'] }, 'me', { cost: { tokens: 5 } })`,
  `limits.reserve({ route: [Llm, 'chat'], rule: 'tokens' }, 'me', { cost: 5 })`,
  `limiter.reserve(rule, 'me')`,
  `limiter.reserve(rules, 'me', { cost: 5 })`,
  `limiter.reserve(either, 'me', { cost: 5 })`,
  `limits.reserve(names, 'me', { settles: 'tokens' })`,
  `keep(limits.reserve(['tokens', 'requests'], 'me', { cost: { tokens: 5 } }))`,
  `limits.reserve(['tokens', streams], 'me', { cost: { tokens: 5 } }).then((it) => it.used({ tokens: usage }))`,
  `limits.reserve('tokens', 'me', { cost: 5 }).then((it) => it.used(usage))`,
  `limits.consume(['tokens', requests], 'me', { cost: { tokens: 5, requests: 2 } })`,
  `limits.consume(['tokens', { route: [Llm, 'chat'] }], 'me', { cost: { tokens: 5, requests: 2 } })`,
  `limits.consume(['tokens', requests, { route: [Llm, 'chat'] }], 'me', { cost: 5 })`,
  `limits.consume(['tokens', 'requests'], 'me', { cost: 5 })`,
  `limiter.peek(rules, 'me', { cost: { tokens: 5 } })`,
];

const errorsOf = (options?: Parameters<typeof errorsIn>[2]) =>
  new Map(
    [...errorsIn([...WRONG.map(([code]) => code), ...RIGHT], PREAMBLE, options)].map(([code, texts]) => [
      code,
      texts.map((text) => text.replaceAll(/"tokens" \| "requests"|"requests" \| "tokens"/g, 'NAMES')),
    ]),
  );

describe('the types of costs by rule name', () => {
  const errors = errorsOf();

  it.each(WRONG)('%s does not compile, and the error is one line', (code, text) => {
    expect(errors.get(code)).toEqual([text]);
  });

  it.each(RIGHT)('%s compiles', (code) => {
    expect(errors.get(code)).toEqual([]);
  });
});

it('costs by rule name are checked in an application without strict', () => {
  const errors = errorsOf({ strict: false, exactOptionalPropertyTypes: false, noUnusedLocals: false });
  const withErrors = [...errors].filter(([, texts]) => texts.length > 0).map(([code]) => code);
  expect(withErrors).toEqual(WRONG.map(([code]) => code));
});
