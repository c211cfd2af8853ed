import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  RateLimitEvents,
  RateLimitExceededException,
  RateLimitUnavailableException,
  recordMetrics,
  overridesFromEnv,
  type Rule,
} from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { inspect } from 'node:util';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { faultOf, NO_OBJECTS } from './refusal.js';

const RULES = {
  gcra: { name: 'mail', algorithm: 'gcra', limit: 1000, window: '1w', block: 'manual' },
  concurrency: { name: 'reports', algorithm: 'concurrency', limit: 1000, block: 'manual' },
} as const;

interface Operation {
  readonly rule: object;
  readonly call: (limiter: RateLimiter, ...args: readonly never[]) => Promise<unknown>;
  /** The arguments after the rule and the subject. */
  readonly rest: readonly unknown[];
}

const operation = (name: keyof RateLimiter, rule: object = RULES.gcra, rest: readonly unknown[] = []) => ({
  rule,
  rest,
  call: (limiter: RateLimiter, ...args: readonly unknown[]) =>
    (limiter[name] as (...all: unknown[]) => Promise<unknown>)(...args),
});

const OPERATIONS: Record<string, Operation> = {
  consume: operation('consume'),
  peek: operation('peek'),
  reserve: operation('reserve'),
  acquire: operation('acquire'),
  hold: operation('hold', RULES.concurrency),
  block: operation('block', RULES.gcra, ['1m']),
  unblock: operation('unblock'),
  reset: operation('reset'),
};

const CASES = (['memory', 'redis'] as const).flatMap((kind) =>
  Object.entries(OPERATIONS).map(([name, each]) => ({ kind, name, ...each })),
);

const limiters = new Map<string, RateLimiter>();

beforeAll(async () => {
  limiters.set('memory', new RateLimiter({ store: new MemoryStore() }));
  limiters.set('redis', new RateLimiter({ store: await openRedisStore(), prefix: uniquePrefix() }));
});

afterAll(async () => {
  for (const limiter of limiters.values()) {
    await limiter.close();
    await (limiter as unknown as { engine: { base: MemoryStore } }).engine.base.close();
  }
});

/** The problems of calls with each of these values. */
async function faults(values: readonly unknown[], call: (value: never) => unknown) {
  const found = await Promise.all(
    values.map(async (value) => `${inspect(value)}: ${await faultOf(() => call(value as never))}`),
  );
  return found.filter((fault) => !fault.endsWith(': none'));
}

describe.each(CASES)('$name on $kind refuses, with the value and what is allowed,', (each) => {
  const run = (...args: readonly unknown[]) =>
    each.call(limiters.get(each.kind)!, ...(args as readonly never[]));

  it('takes the arguments that are right', async () => {
    await expect(run(each.rule, 'ann', ...each.rest)).resolves.not.toThrow();
  });

  it('anything but a rule in its place', async () => {
    expect(await faults([undefined, ...NO_OBJECTS], (rule) => run(rule, 'ann', ...each.rest))).toEqual([]);
  });

  it('anything but rules in a list', async () => {
    const lists = [undefined, ...NO_OBJECTS].map((value) => [value]);
    expect(await faults(lists, (rules) => run(rules, 'ann', ...each.rest))).toEqual([]);
  });

  it('an unknown field of the rule', async () => {
    const call = (field: string) => run({ ...each.rule, [field]: 1 }, 'ann', ...each.rest);
    expect(await faults(['limits', 'windowMs', 'count', 'skipIf', 'by', 'x'], call)).toEqual([]);
  });

  it('anything but a subject', async () => {
    const wrong = [
      undefined,
      null,
      true,
      NaN,
      {},
      [],
      [null],
      new Array(2),
      Symbol('x'),
      () => 1,
      new Map(),
      5n,
    ];
    expect(await faults(wrong, (subject) => run(each.rule, subject, ...each.rest))).toEqual([]);
  });
});

const WITH_OPTIONS = CASES.filter(({ name }) => name !== 'reset' && name !== 'unblock');

describe.each(WITH_OPTIONS)('$name on $kind', ({ kind, rule, rest, call }) => {
  it('refuses options that it would ignore', async () => {
    const unknown = [{ costs: 2 }, { count: 2 }, { timeout: 5 }, { limit: 5 }, { rules: ['x'] }];
    const run = (options: unknown) =>
      call(limiters.get(kind)!, rule as never, 'ann' as never, ...(rest as never[]), options as never);
    expect(await faults([...unknown, ...NO_OBJECTS], run)).toEqual([]);
  });
});

describe.each(['memory', 'redis'] as const)('the limiter on %s', (kind) => {
  const limiter = () => limiters.get(kind)!;

  it('names the option that was probably meant, and those there are', async () => {
    const call = limiter().consume(RULES.gcra, 'ann', { costs: 5 } as object);
    await expect(call).rejects.toThrow('consume.costs: no such option: did you mean "cost"?; allowed: cost');
  });

  it('refuses a block with an author or a reason that no list of blocks has room for', async () => {
    const call = (options: object) => limiter().block(RULES.gcra, 'ann', '1m', options);
    const wrong = [
      { by: '' },
      { by: 7 },
      { by: 'x'.repeat(257) },
      { reason: 7 },
      { reason: 'x'.repeat(1025) },
    ];
    expect(await faults(wrong, call)).toEqual([]);
    await expect(call({ by: '' })).rejects.toThrow('by: got ""; allowed: a text of 1 to 256 characters');
  });

  it('reads counts that are strings of digits', async () => {
    const text = (value: string) => value as unknown as number;
    const { remaining } = await limiter().consume(RULES.gcra, 'bob', { cost: text('10') });
    expect(remaining).toBe(990);
    const reservation = await limiter().reserve(RULES.gcra, 'bob', { cost: text('100') });
    await reservation.settle(text('40'));
    expect(await limiter().peek(RULES.gcra, 'bob', { cost: 0 })).toMatchObject({ remaining: 950 });
  });

  it('refuses an actual cost that is none', async () => {
    const reservation = await limiter().reserve(RULES.gcra, 'cat', { cost: 1 });
    const wrong = [undefined, null, true, {}, -1, 0.5, '', '1e3', 2e9];
    const byName = wrong.slice(1).map((cost) => ({ mail: 1, sms: cost }));
    expect(await faults([...wrong, ...byName], (actual) => reservation.settle(actual))).toEqual([]);
    await reservation.cancel();
  });

  it('refuses a cost by rule name that is none, and names that are not among the rules', async () => {
    const rules: readonly Rule[] = [RULES.gcra, { ...RULES.gcra, name: 'sms' }];
    const wrong = [{}, { mail: -1 }, { mail: 1, sms: '1e3' }, { sms: null }, { mial: 1 }, { 'mail?': 1 }, []];
    expect(await faults(wrong, (cost) => limiter().consume(rules, 'eve', { cost }))).toEqual([]);
    expect(await faults(wrong, (cost) => limiter().peek(rules, 'eve', { cost }))).toEqual([]);
    expect(await faults(wrong, (cost) => limiter().reserve(rules, 'eve', { cost }))).toEqual([]);
    const names = ['', 'mial', 5, null, ['mail'], 'mail?'];
    expect(await faults(names, (settles) => limiter().reserve(rules, 'eve', { settles }))).toEqual([]);
    const ofOne = [{ mail: 1 }, {}];
    expect(await faults(ofOne, (cost) => limiter().acquire(RULES.gcra, 'eve', { cost }))).toEqual([]);
    await expect(limiter().consume(rules, 'eve', { cost: { mail: -1 } })).rejects.toThrow(
      'cost.mail: got -1; allowed: an integer from 0 to 1000000000',
    );
    expect(await limiter().peek(rules, 'eve', { cost: 0 })).toMatchObject({ remaining: 1000 });
  });

  it('reads costs by rule name that are strings of digits', async () => {
    const rules: readonly Rule[] = [RULES.gcra, { ...RULES.gcra, name: 'sms' }];
    const reservation = await limiter().reserve(rules, 'fay', { cost: { mail: '100' as unknown as number } });
    await reservation.settle({ mail: '40' as unknown as number });
    const { decisions } = await limiter().peek(rules, 'fay', { cost: 0 });
    expect(decisions.map(({ remaining }) => remaining)).toEqual([960, 999]);
  });

  it('warns once, and throws nothing, when a reservation of several rules is settled with wrong names', async () => {
    const own = new RateLimiter({ store: new MemoryStore() });
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const rules: readonly Rule[] = [RULES.gcra, { ...RULES.gcra, name: 'sms' }];
    const cost = { mail: 10 };
    expect(await (await own.reserve(rules, 'ann', { cost })).settle({ mial: 5, sms: 0 })).toBe(true);
    expect(await (await own.reserve(rules, 'ann', { cost })).settle(5)).toBe(false);
    expect(await (await own.reserve(RULES.gcra, 'ann', { cost })).settle({ sms: 5 } as never)).toBe(false);
    const warnings = [...emitWarning.mock.calls];
    emitWarning.mockRestore();
    const message =
      'A reservation of the rules "mail", "sms" was settled with the rule "mial", which is not among them. Rules that ' +
      'settle() does not name keep their charge. Correct the name: did you mean "mail"?';
    expect(warnings).toEqual([[message, { type: 'RateLimitWarning', code: 'RL_SETTLED_IN_PART' }]]);
    const { decisions } = await own.peek(rules, 'ann', { cost: 0 });
    expect(decisions.map(({ remaining }) => remaining)).toEqual([970, 999]);
    await own.close();
  });

  it('reads each option once, so that a getter cannot change its value after the check', async () => {
    const fickle = (name: string, values: readonly unknown[]): object => {
      const left = [...values];
      return Object.defineProperty({}, name, { enumerable: true, get: () => left.shift() });
    };
    const options = fickle('cost', [2, NaN, -100, -100]);
    expect(await limiter().consume(RULES.gcra, 'gil', options)).toMatchObject({ remaining: 998 });
    const byName = { cost: fickle('mail', [2, 2, NaN, -100, -100]) };
    await limiter().consume(RULES.gcra, 'gil', byName);
    expect(await limiter().peek(RULES.gcra, 'gil', { cost: 0 })).toMatchObject({ remaining: 996 });
  });

  it('refuses a rule whose name is a duration, or no text', async () => {
    const call = (name: never) => limiter().consume({ ...RULES.gcra, name }, 'ann');
    expect(await faults(['1m', '500ms', 'ä', '', Symbol('x'), 5, null], call)).toEqual([]);
  });

  it('refuses to refund what is no decision of it, and options that it would ignore', async () => {
    const decision = await limiter().consume(RULES.gcra, 'dan', { cost: 10 });
    const permit = await limiter().hold(RULES.concurrency, 'dan');
    const copies = [{ ...decision }, structuredClone({ ...decision }), new Proxy(decision, {})];
    const wrong = [undefined, ...NO_OBJECTS, {}, permit, ...copies];
    expect(await faults(wrong, (value) => limiter().refund(value))).toEqual([]);
    const options = [
      ...NO_OBJECTS,
      { rule: 'mail' },
      { rules: 'mail' },
      { rules: ['mial'] },
      { onlyLast: 1 },
    ];
    expect(await faults(options, (value) => limiter().refund(decision, value))).toEqual([]);
    expect(await limiter().refund(decision, { rules: ['mail'] })).toBe(true);
    await permit.release();
  });

  it('warns once of a second rule without a name whose counter or block is the same', async () => {
    const own = new RateLimiter({ store: new MemoryStore() });
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    await own.consume({ window: '1m', limit: 100 }, 'ann');
    await own.consume({ window: '1m', limit: 100, cost: undefined } as never, 'ann');
    await own.consume({ name: 'sms', window: '1m', limit: 5 }, 'ann');
    await own.consume({ window: '1h', limit: 5 }, 'ann');
    await own.consume({ window: '1m', limit: 100, algorithm: 'gcra', block: '1h' }, 'ann');
    const none = emitWarning.mock.calls.length;
    await own.consume({ window: '1m', limit: 200 }, 'ann');
    await own.consume({ window: '1m', limit: 300 }, 'ann');
    const other = new RateLimiter({ store: new MemoryStore() });
    await other.consume({ window: '1m', limit: 5, block: '1h' }, 'ann');
    await other.consume({ window: '1h', limit: 5, block: '1h' }, 'ann');
    const warnings = [...emitWarning.mock.calls];
    emitWarning.mockRestore();
    const messageOf = (one: string, first: string, how: string) =>
      `Rate limit rules without a name: got ${one} and ${first}: both count as "default", ${how}. Give each a name.`;
    const counter = messageOf('{"window":"1m","limit":200}', '{"window":"1m","limit":100}', 'on one counter');
    const block = messageOf(
      '{"window":"1h","limit":5,"block":"1h"}',
      '{"window":"1m","limit":5,"block":"1h"}',
      'with one block',
    );
    expect(none).toBe(0);
    expect(warnings).toEqual([
      [counter, 'RateLimitWarning'],
      [block, 'RateLimitWarning'],
    ]);
    await own.close();
    await other.close();
  });
});

describe('what is made with `new` refuses', () => {
  const memory = () => new MemoryStore();
  const redis = 'redis://localhost:1';

  it.each<[string, (options: never) => unknown, readonly unknown[]]>([
    [
      'RateLimiter',
      (options) => new RateLimiter(options),
      [
        undefined,
        {},
        { store: redis },
        { store: memory(), redis },
        { store: memory(), timeout: 50 },
        { store: memory(), denyCache: 'false' },
        { store: memory(), instances: 0 },
        { store: memory(), instances: '1.5' },
        { store: memory(), onStoreError: 'panic' },
        { store: memory(), fallback: 'allow' },
        { store: memory(), prefix: 5 },
        { store: memory(), becomesReady: true },
      ],
    ],
    [
      'MemoryStore',
      (options) => new MemoryStore(options),
      [{ maxKeys: 0 }, { maxKeys: '1e3' }, { maxKeys: null }, { maxkeys: 5 }, { clock: 5 }, { redis }],
    ],
    [
      'RedisStore',
      (options) => new RedisStore(options),
      [
        undefined,
        {},
        { redis: 5 },
        { url: redis },
        { redis, timeout: '50ms' },
        { redis, timeout: 0 },
        { redis, connectTimeout: '' },
        { redis, connecttimeout: 5 },
        { redis, prefix: 'x' },
        { redis, clock: 5 },
      ],
    ],
    ['RateLimitExceededException', (decision) => new RateLimitExceededException(decision), [undefined, {}]],
    [
      'RateLimitExceededException with a body',
      (decision) => new RateLimitExceededException(decision, 'slow down'),
      [undefined, {}, { decision: { decisions: [] } }],
    ],
    ['RateLimitUnavailableException', (decision) => new RateLimitUnavailableException(decision), [undefined]],
  ])('what %s would ignore', async (_name, make, wrong) => {
    expect(await faults([...wrong, ...NO_OBJECTS], (options) => make(options))).toEqual([]);
  });

  it('a store in place of the options, in one line', () => {
    const store = memory() as unknown as { store: MemoryStore };
    const allowed =
      'allowed: an object with store, prefix, onStoreError, instances, application, denyCache, fallback';
    expect(() => new RateLimiter(store)).toThrow(
      new RegExp(`^Rate limit .*:\\n  - the options of RateLimiter: got .*; ${allowed}$`),
    );
  });

  it('nothing that is right, with counts as strings of digits', async () => {
    const text = (value: string) => value as unknown as number;
    const store = new MemoryStore({ maxKeys: text('5'), clock: Date.now });
    const limiter = new RateLimiter({ store, instances: text('4') });
    expect(limiter.instanceCount).toBe(4);
    const remote = new RedisStore({ redis, timeout: text('60'), connectTimeout: text('1') });
    expect(remote.timeout).toBe(60);
    await remote.close();
    await limiter.close();
  });
});

describe('listeners and meters', () => {
  const events = new RateLimitEvents();
  const listener = () => undefined;

  it('refuse the name of an event that is never emitted', async () => {
    const call = (name: never) => (events.on as (...given: unknown[]) => unknown)(name, listener);
    expect(await faults([undefined, null, 5, 'denyed', 'error', {}, Symbol('x')], call)).toEqual([]);
    expect(() => events.on('decisions' as 'decision', listener)).toThrow('did you mean "decision"?');
  });

  it('refuse a listener that cannot be called', async () => {
    const wrong = [undefined, null, 5, {}, 'listener'];
    expect(await faults(wrong, (value) => events.on('decision', value))).toEqual([]);
  });

  it('refuse what is no meter, or no events', async () => {
    const wrong = [undefined, null, 5, {}, 'meter'];
    expect(await faults(wrong, (meter) => recordMetrics(events, meter))).toEqual([]);
    expect(await faults(wrong, (none) => recordMetrics(none, {} as never))).toEqual([]);
  });

  it('refuse what is no configuration', async () => {
    const wrong = [undefined, null, 5, {}, 'config', { get: 5 }];
    expect(await faults(wrong, (config) => overridesFromEnv(config))).toEqual([]);
    const names = [null, 5, 'RATE_LIMIT__X__LIMIT', {}, [5]];
    const config = { get: () => 5 };
    expect(await faults(names, (value) => overridesFromEnv(config, value))).toEqual([]);
  });
});
