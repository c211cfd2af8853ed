import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { openEditor } from './editor.js';

const PREAMBLE = [
  `import { RateLimit, RateLimitModule, type RateLimitService } from '../../lib/index.js';`,
  `import type { RateLimiter } from '../../lib/limiter.js';`,
  `declare const limiter: RateLimiter;`,
  `declare const limits: RateLimitService;`,
  `class Config { get(name: string): string { return name; } }`,
].join('\n');

/** Where a rule is written. */
const PLACES: Readonly<Record<string, (rule: string) => string>> = {
  '@RateLimit': (rule) => `class A { @RateLimit(${rule}) go() {} }`,
  '@RateLimit of a rule by name': (rule) => `class A { @RateLimit('login', ${rule}) go() {} }`,
  forRoot: (rule) => `RateLimitModule.forRoot({ rules: { login: ${rule} } });`,
  'useFactory without parameters': (rule) =>
    `RateLimitModule.forRootAsync({ useFactory: () => ({ rules: { login: ${rule} } }) });`,
  'useFactory with parameters': (rule) =>
    `RateLimitModule.forRootAsync({ inject: [Config], useFactory: async (config: Config) => ({ redis: config.get('url'), onDemand: { login: ${rule} } }) });`,
  'RateLimiter.peek': (rule) => `void limiter.peek(${rule}, 'me');`,
  'RateLimitService.reserve': (rule) => `void limits.reserve(${rule}, 'me');`,
  'RateLimitService.peek of a list': (rule) => `void limits.peek([${rule}, 'mail'], 'me');`,
};

const places = Object.keys(PLACES);

/** Each algorithm, with its options. */
const ALGORITHMS = Object.values(algorithms).map(({ name, options, ...others }) => ({
  name,
  own: Object.keys(options),
  window: 'leases' in others ? '' : `window: '1m', `,
}));

const ALL_OPTIONS = [...new Set(ALGORITHMS.flatMap(({ own }) => own))];

/** Values of options whose type is not a number. */
const VALUES: Readonly<Record<string, string>> = {
  align: `'clock'`,
  timeZone: `'UTC'`,
  prefetch: '{ permits: 2 }',
  share: '{}',
  refill: `'interval'`,
  warmUp: `'5s'`,
  overdraft: 'true',
  lease: `'10s'`,
};

const offering = ({ name, window }: (typeof ALGORITHMS)[number]) =>
  `{ ${window}limit: 5, algorithm: '${name}', /**/ }`;

const BARE = `{ /**/ }`;

const TYPED = `{ window: '1m', limit: 5, algorithm: 'gcra', b/**/ }`;

/** A rule with a mark after each of its fields and options in turn. */
const hovered = ({ name, own, window }: (typeof ALGORITHMS)[number]) => [
  ...['limit', 'algorithm', 'cost', 'block', ...(window ? ['window'] : [])].map((field) =>
    `{ ${window}limit: 5, algorithm: '${name}', cost: 2, block: '1m' }`.replace(`${field}:`, `${field}/**/:`),
  ),
  ...own.map(
    (option) => `{ ${window}limit: 5, algorithm: '${name}', ${option}/**/: ${VALUES[option] ?? 5} }`,
  ),
];

const HOVERED = [
  `{ window/**/: '1m', limit: 5 }`,
  `{ window: '1m', limit/**/: 5 }`,
  `{ window: '1m', limit: 5, cost/**/: 2, burst: 10 }`,
];

const editor = openEditor(
  PREAMBLE,
  Object.values(PLACES).flatMap((inPlace) =>
    [...ALGORITHMS.flatMap((each) => [offering(each), ...hovered(each)]), BARE, TYPED, ...HOVERED].map(
      inPlace,
    ),
  ),
);

describe.each(places)('an editor, in a rule of %s,', (place) => {
  const inPlace = PLACES[place]!;

  it.each(ALGORITHMS)('offers of all options those of $name after it is chosen', (algorithm) => {
    const offered = editor.completions(inPlace(offering(algorithm)));
    expect(offered.filter((field) => ALL_OPTIONS.includes(field))).toEqual([...algorithm.own].sort());
    expect(offered).toEqual(expect.arrayContaining(['block', 'cost', 'mode', 'unit']));
  });

  it('offers the options of all algorithms, and those of gcra alone also while a name is typed', () => {
    expect(editor.completions(inPlace(BARE))).toEqual(
      expect.arrayContaining(['algorithm', 'limit', 'window', ...ALL_OPTIONS]),
    );
    const offered = editor.completions(inPlace(TYPED));
    expect(offered).toContain('burst');
    expect(offered.filter((field) => ['align', 'cells', 'lease', 'refill'].includes(field))).toEqual([]);
  });

  it.each(ALGORITHMS)('shows the documentation of the fields of $name', (algorithm) => {
    // Texts, which name rules, have a method `anchor`.
    const isOfTexts = (rule: string) => place.startsWith('RateLimitService') && rule.includes('anchor/');
    const rules = hovered(algorithm).filter((rule) => !isOfTexts(rule));
    const undocumented = rules.filter((rule) => editor.hover(inPlace(rule)) === '');
    expect(undocumented).toEqual([]);
  });

  it('shows the documentation of a rule without algorithm, and of one with an error', () => {
    expect(HOVERED.filter((rule) => editor.hover(inPlace(rule)) === '')).toEqual([]);
  });
});

const NO_RULE = "did you mean @RateLimit('1m', 100)? A decorator takes one rule, in parentheses";

/** The code, and what the first line of its error contains, or the second one if the first is the compiler's. */
const WRONG_DECORATORS: readonly (readonly [title: string, code: string, sentence: string])[] = [
  ['a window without a unit', `class A { @RateLimit('60', 100) go() {} }`, NO_RULE],
  ['a list of rules', `class A { @RateLimit([{ window: '1m', limit: 5 }]) go() {} }`, NO_RULE],
  ['a class without parentheses', `@RateLimit class A { go() {} }`, NO_RULE],
  [
    'a method without parentheses',
    `class A { constructor(readonly config: Config) {} @RateLimit go() {} }`,
    NO_RULE,
  ],
  [
    'fields instead of an algorithm',
    `class A { @RateLimit('1m', 100, { by: 'user' }) go() {} }`,
    'did you mean @RateLimit({ window, limit, ... })? The third argument is the algorithm',
  ],
];

/** A wrong rule, and the sentence in the error about a factory that returns it. */
const WRONG_RULES: readonly (readonly [rule: string, sentence: string])[] = [
  [
    `{ window: '1m', limit: 5, burst: 10 }`,
    'login.burst: burst is an option of another algorithm: set algorithm as well',
  ],
  [`{ window: '1m', limit: 5, algorithm: 'gcra', align: 'clock' }`, 'login.align: gcra has no option align'],
  [
    `{ window: '1m', limit: 5, algorithm: 'token-bucket', warmUp: '5s', burst: 10 }`,
    'login.burst: burst cannot be combined with warmUp',
  ],
  [`{ window: '1m', limit: 5, algorithm: 'concurrency' }`, 'login.window: concurrency has no window'],
  [`{ window: '60', limit: 5 }`, 'login.window: a duration needs a unit, such as 60s'],
  [`{ window: 'day', limit: 5 }`, 'login.window: day is a window of fixed-window only'],
  [`{ window: '1m', limit: 5, bust: 10 }`, 'login.bust: a rule has no field bust'],
  [`{ window: '1m', limit: '5' }`, 'login.limit has the wrong type'],
  [`{ window: '1m', limit: 5, mode: 'observe' }`, 'login.mode has the wrong type'],
  [`{ window: '1m', limit: 5, algorithm: 'gcar' }`, 'login.algorithm has the wrong type'],
  [`[{ window: '1m', limit: 5 }]`, 'login has the wrong type'],
];

const FACTORIES = ['useFactory without parameters', 'useFactory with parameters'] as const;

/** A source of wrong options, and the sentence in the error about it. */
const SOURCES: readonly (readonly [source: string, sentence: string])[] = [
  [`useFactory: (config: Config) => ({ timeout: config.get('x') })`, 'timeout has the wrong type'],
  [`useClass: class { createRateLimitOptions() { return { timeout: '5' }; } }`, 'timeout has the wrong type'],
  [`useFactory: () => ({ redis: 'x', heders: false })`, 'heders: the module has no option heders'],
  [
    `useFactory: () => ({ redis: 'x', registerGuard: false })`,
    'registerGuard: write registerGuard beside useFactory',
  ],
];

const RIGHT: readonly string[] = [
  `useFactory: () => ({ timeout: 5, rules: { a: { window: '1m', limit: 5, skipIf: (context) => context.getType() === 'ws' } } })`,
  `useFactory: (config) => ({ overrides: config.get('x') }), inject: [Config]`,
  `useFactory: async (config) => config.get('rateLimit')`,
  `useFactory: (): Record<string, unknown> => ({ redis: 'x' })`,
  `useFactory: (): { redis: string; rules: Record<string, { window: string; limit: number }> } => ({ redis: 'x', rules: {} })`,
  `useFactory: () => (Math.random() > 2 ? { redis: 'x' } : { timeout: 5 })`,
  `useClass: class { createRateLimitOptions() { return { timeout: 5 }; } }`,
];

const forRootAsync = (source: string): string => `RateLimitModule.forRootAsync({ ${source} });`;

/** A rule with a misspelled field, and the field that the compiler suggests. */
const MISSPELLED: readonly (readonly [code: string, field: string])[] = [
  [`class A { @RateLimit({ name: 'x', windw: '1m', limit: 5 }) go() {} }`, 'window'],
  [`class A { @RateLimit({ window: '1m', limit: 5, algorithm: 'gcra', brst: 5 }) go() {} }`, 'burst'],
  [`class A { @RateLimit('login', { limt: 5 }) go() {} }`, 'limit'],
  [`class A { @RateLimit('1m', 5, 'gcra', { costt: 5 }) go() {} }`, 'cost'],
];

const compiler = openEditor(PREAMBLE, [
  ...MISSPELLED.map(([code]) => code),
  ...WRONG_DECORATORS.map(([, code]) => code),
  ...FACTORIES.flatMap((place) => WRONG_RULES.map(([rule]) => PLACES[place]!(rule))),
  ...[...SOURCES.map(([source]) => source), ...RIGHT].map(forRootAsync),
]);

it.each(WRONG_DECORATORS)('the error about %s is a sentence', (_title, code, sentence) => {
  const [first] = compiler.errors(code);
  const lines = first!.split('\n');
  expect(lines.length).toBeLessThanOrEqual(2);
  expect(lines.at(-1)).toContain(`is not assignable to parameter of type '"${sentence}"'`);
});

it.each(MISSPELLED)('the error about %s is one line with the field that was meant', (code, field) => {
  const [error, ...others] = compiler.errors(code);
  expect([error!.split('\n').length, others]).toEqual([1, []]);
  expect(error).toMatch(
    new RegExp(`^Object literal may only specify known .*Did you mean to write '${field}'\\?$`),
  );
});

describe.each(FACTORIES)('the error about %s', (place) => {
  it.each(WRONG_RULES)('that returns %s has two lines with the cause in the first', (rule, sentence) => {
    const [error, ...others] = compiler.errors(PLACES[place]!(rule));
    expect(others).toEqual([]);
    const lines = error!.split('\n');
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/is not assignable to type '"options\.(rules|onDemand)\./);
    expect(lines[0]).toContain(`.${sentence}"`);
  });
});

it.each(SOURCES)(
  'the error about forRootAsync({ %s }) has two lines with the cause in the first',
  (source, sentence) => {
    const [error] = compiler.errors(forRootAsync(source));
    expect(error!.split('\n')).toHaveLength(2);
    expect(error!.split('\n')[0]).toContain(`"options.${sentence}"`);
  },
);

it.each(RIGHT)('forRootAsync({ %s }) compiles', (source) => {
  expect(compiler.errors(forRootAsync(source))).toEqual([]);
});
