import { afterEach, describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import { MemoryRuleSource, type AlgorithmName, type NamedRule, type RuleSource } from '../../lib/index.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { startLiveApp } from './live-app.js';

/** All but those without a limit for each window: permits that are held, and a leaky bucket, which delays requests. */
const ALGORITHMS = (Object.keys(algorithms) as AlgorithmName[]).filter(
  (name) => !algorithms[name].leases && name !== 'leaky-bucket',
);

const CASES = ALGORITHMS.flatMap((algorithm) =>
  [
    { from: 6, to: 3 },
    { from: 3, to: 6 },
  ].map((limits) => ({ algorithm, ...limits })),
);

/** What the rule in the code states, which every process knows. */
const codeOf = (inherit: string) => (inherit === 'proportional' ? { inherit } : {});

/** A source whose changes never reach its process: one that has not learned of them yet. */
const unheard: RuleSource = { load: async () => ({ version: 0, entries: [] }), watch: () => () => undefined };

afterEach(closeApps);

describe.each(CASES)(
  '$algorithm from $from to $to permits, in processes of which one has not learned it',
  (each) => {
    /** Sends requests of one subject to both processes in turn. Returns how many are allowed. */
    const allowedOf = async (inherit: 'absolute' | 'proportional' | 'reset', before: number) => {
      const { algorithm, from, to } = each;
      const options = {
        redis: redisUrl(),
        prefix: uniquePrefix(),
        onDemand: {
          login: { window: '1h', limit: from, by: 'ip', algorithm, ...codeOf(inherit) } as NamedRule,
        },
      } as const;
      const [late, early] = [
        await startLiveApp(unheard, options),
        await startLiveApp(new MemoryRuleSource(), options),
      ];
      let allowed = 0;
      const ask = async ({ limits }: typeof late) => {
        if ((await limits.consume('login', '203.0.113.7')).allowed) allowed += 1;
      };
      for (let index = 0; index < before; index += 1) await ask(index % 2 ? late : early);
      await early.rules.set('login', { limit: to }, { by: 'ops', inherit });
      for (let index = 0; index < 12; index += 1) await ask(index % 2 ? late : early);
      return allowed;
    };

    it.each([0, 2, 6])(
      'no window has more than the larger limit, with %i requests before the change',
      async (before) => {
        expect(await allowedOf('absolute', before)).toBeLessThanOrEqual(6);
      },
    );

    if ('inherit' in algorithms[each.algorithm].options) {
      it.each([0, 2, 6])(
        'no window has more than the larger limit if consumed permits are scaled, with %i requests before',
        async (before) => {
          expect(await allowedOf('proportional', before)).toBeLessThanOrEqual(6);
        },
      );
    }

    it('a reset allows at most the sum of both limits', async () => {
      expect(await allowedOf('reset', 6)).toBe(9);
    });
  },
);

describe('consumed permits after a live change', () => {
  const WAYS = ALGORITHMS.filter((name) => 'inherit' in algorithms[name].options);
  const options = (rule: object) => ({
    redis: redisUrl(),
    prefix: uniquePrefix(),
    onDemand: { login: { window: '1h', by: 'ip', ...rule } as NamedRule },
  });
  const IP = '203.0.113.7';
  const OPS = { by: 'ops' };

  it.each(WAYS)('%s: half of the old limit is half of the new one, there and back', async (algorithm) => {
    const app = await startLiveApp(
      new MemoryRuleSource(),
      options({ limit: 10, algorithm, inherit: 'proportional' }),
    );
    const left = async () => (await app.limits.peek('login', IP)).remaining;
    await app.limits.consume('login', IP, { cost: 5 });
    await app.rules.set('login', { limit: 100 }, { ...OPS, inherit: 'proportional' });
    expect(await left()).toBe(50);
    await app.limits.consume('login', IP, { cost: 25 });
    await app.rules.set('login', { limit: 7 }, OPS);
    expect(await left()).toBe(1);
    await app.rules.unset('login', OPS);
    expect(await left()).toBe(2);
  });

  it.each([
    { algorithm: 'leaky-bucket', queue: 9, delayAfter: 9, window: '1d', left: [6, 16] },
    { algorithm: 'concurrency', window: undefined, left: [6, 16] },
  ])('$algorithm: requests that wait and permits that are held stay as many', async ({ left, ...rule }) => {
    const app = await startLiveApp(new MemoryRuleSource(), options({ ...rule, limit: 10 }));
    for (let nth = 0; nth < 4; nth++) {
      if (rule.algorithm === 'concurrency') await app.limits.hold('login', IP);
      else await app.limits.acquire('login', IP);
    }
    const remaining = async () => (await app.limits.peek('login', IP)).remaining;
    const before = await remaining();
    await app.rules.set('login', rule.algorithm === 'concurrency' ? { limit: 20 } : { queue: 19 }, OPS);
    expect([before, await remaining()]).toEqual(left);
  });

  it('a change cannot count consumed permits in another way than the rule in the code', async () => {
    const app = await startLiveApp(new MemoryRuleSource(), options({ limit: 10, algorithm: 'gcra' }));
    const change = { ...OPS, inherit: 'proportional' } as const;
    await expect(app.rules.set('login', { limit: 3 }, change)).rejects.toThrow(
      'inherit: got "proportional"; allowed: "absolute", as rule "login" has it, or "reset"; or write inherit: "proportional" on the rule in the code',
    );
    await expect(app.rules.set('login', { inherit: 'proportional' } as object, OPS)).rejects.toThrow(
      'login".inherit: only in the code',
    );
    await app.rules.set('login', { limit: 3 }, { ...OPS, inherit: 'absolute' });
  });
});
