import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimitModule, RateLimitService, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { closeApps, startApp } from '../support/nest-app.js';

const RULE = { name: 'mail', algorithm: 'gcra', limit: 10, window: '1m', block: 'manual' } as const;
const HELD = { name: 'reports', algorithm: 'concurrency', limit: 10 } as const;

/** An error that cannot be converted to a string. */
const UNPRINTABLE = Object.create(null) as object;

function throwing(field: string, error: unknown): () => object {
  const get = (): never => {
    throw error;
  };
  return () => Object.defineProperty({ ...RULE }, field, { get, enumerable: true });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Makes values that throw when they are read, or that no operation accepts. */
const HOSTILE: Record<string, () => unknown> = {
  'a getter of `algorithm` that throws': throwing('algorithm', new TypeError('thrown')),
  'a getter of `algorithm` that throws an unprintable value': throwing('algorithm', UNPRINTABLE),
  'a getter of `limit` that throws an unprintable value': throwing('limit', UNPRINTABLE),
  'a getter of `cost` that throws an unprintable value': throwing('cost', UNPRINTABLE),
  'a getter of `rules` that throws': throwing('rules', new TypeError('thrown')),
  'a revoked proxy': revoked,
  'a list with a revoked proxy': () => [revoked()],
  'an object that cannot be converted to a string': () =>
    Object.assign(Object.create(null) as object, { x: 1 }),
  'a symbol': () => Symbol('x'),
  'a rule whose name is a symbol': () => ({ ...RULE, name: Symbol('x') }),
};

type Call = (limiter: RateLimiter, value: never) => unknown;

const OPERATIONS: Record<string, Call> = {
  consume: (limiter, value) => limiter.consume(value, 'ann'),
  'consume with a subject': (limiter, value) => limiter.consume(RULE, value),
  'consume with options': (limiter, value) => limiter.consume(RULE, 'ann', value),
  'consume of a list': (limiter, value) => limiter.consume([HELD as unknown as Rule, value], 'ann'),
  peek: (limiter, value) => limiter.peek(value, 'ann'),
  reserve: (limiter, value) => limiter.reserve(value, 'ann'),
  'reserve with options': (limiter, value) => limiter.reserve(RULE, 'ann', value),
  acquire: (limiter, value) => limiter.acquire(value, 'ann'),
  'acquire with options': (limiter, value) => limiter.acquire(RULE, 'ann', value),
  hold: (limiter, value) => limiter.hold(value, 'ann'),
  'hold with options': (limiter, value) => limiter.hold(HELD, 'ann', value),
  block: (limiter, value) => limiter.block(value, 'ann', '1m'),
  'block for a duration': (limiter, value) => limiter.block(RULE, 'ann', value),
  'block with options': (limiter, value) => limiter.block(RULE, 'ann', '1m', value),
  unblock: (limiter, value) => limiter.unblock(value, 'ann'),
  reset: (limiter, value) => limiter.reset(value, 'ann'),
  refund: (limiter, value) => limiter.refund(value),
};

/** Operations that a limiter without Nest does not have, or takes fewer arguments for. */
const OF_APPLICATIONS: Record<string, Call> = {
  'reset with options': (_limiter, value) => limits.reset('mail', 'ann', value),
  usage: (_limiter, value) => limits.usage('ann', value),
  'usage of a subject': (_limiter, value) => limits.usage(value, ['mail']),
  explain: (_limiter, value) => limits.explain(value, value),
};

let limiter: RateLimiter;
let limits: RateLimitService;

beforeAll(async () => {
  limiter = new RateLimiter({ store: new MemoryStore() });
  const imports = [
    RateLimitModule.forRoot({ onDemand: { mail: { algorithm: 'gcra', limit: 10, window: '1m' } } }),
  ];
  limits = (await startApp({ imports }, { framework: 'express' })).app.get(RateLimitService);
  await limits.consume('mail', 'ann'); // The operations are loaded from now on.
});

afterAll(async () => {
  await limiter.close();
  await closeApps();
});

/** How a call ends: `rejects`, `resolves` or, if it does not return a promise, `throws`. */
async function endOf(call: () => unknown): Promise<string> {
  let promise: unknown;
  try {
    promise = call();
  } catch {
    return 'throws';
  }
  return Promise.resolve(promise).then(
    () => 'resolves',
    () => 'rejects',
  );
}

describe.each(Object.entries(HOSTILE))('%s', (_value, make) => {
  it('makes operations of RateLimiter reject, not throw', async () => {
    for (const [name, call] of Object.entries(OPERATIONS))
      expect([name, await endOf(() => call(limiter, make() as never))]).toEqual([name, 'rejects']);
  });

  it('makes operations of RateLimitService reject, not throw', async () => {
    for (const [name, call] of Object.entries({ ...OPERATIONS, ...OF_APPLICATIONS }))
      expect([name, await endOf(() => call(limits, make() as never))]).toEqual([name, 'rejects']);
  });
});

it('usage refuses what is no list of names, with the value and what is allowed', async () => {
  await expect(limits.usage('ann', 'mail' as never)).rejects.toThrow(
    'rules: got "mail"; allowed: a list of names of rules',
  );
});

it.each([undefined, null, '', { id: 1 }])('usage of all rules refuses %j as a subject', async (subject) => {
  await expect(limits.usage(subject as never)).rejects.toThrow(
    'allowed: a string that is not empty, a number',
  );
});

it('unknown rule names of programs are not kept', async () => {
  const { usedByPrograms } = (limits.table as unknown as { declared: { usedByPrograms: Set<string> } })
    .declared;
  await expect(limits.consume('mial', 'ann')).rejects.toThrow('rule "mial"');
  expect([...usedByPrograms]).toEqual(['mail']);
});
