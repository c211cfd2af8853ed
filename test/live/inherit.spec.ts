import { afterEach, describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { AlgorithmName, RuleSource } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { Pages, startLiveApp } from './live-app.js';

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

/** A source whose changes never reach its process: one that has not learned of them yet. */
const unheard: RuleSource = { load: async () => ({ version: 0, entries: [] }), watch: () => () => undefined };

afterEach(closeApps);

describe.each(CASES)(
  '$algorithm from $from to $to permits, in processes of which one has not learned it',
  (each) => {
    /** Sends requests of one subject to both processes in turn. Returns how many are allowed. */
    const allowedOf = async (inherit: 'reset' | undefined, before: number) => {
      const { algorithm, from, to } = each;
      const options = {
        redis: redisUrl(),
        timeout: 10_000,
        prefix: uniquePrefix(),
        onDemand: {
          login: { window: '1h', limit: from, by: 'ip', algorithm } as NamedRule,
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
      await early.rules.set('login', { limit: to }, { by: 'ops', ...(inherit && { inherit }) });
      for (let index = 0; index < 12; index += 1) await ask(index % 2 ? late : early);
      return allowed;
    };

    it.each([0, 2, 6])(
      'no window has more than the larger limit, with %i requests before the change',
      async (before) => {
        expect(await allowedOf(undefined, before)).toBeLessThanOrEqual(6);
      },
    );

    it('a reset allows at most the sum of both limits', async () => {
      expect(await allowedOf('reset', 6)).toBe(9);
    });
  },
);

describe('consumed permits after a live change', () => {
  const options = (rule: object) => ({
    redis: redisUrl(),
    timeout: 10_000,
    prefix: uniquePrefix(),
    onDemand: { login: { window: '1h', by: 'ip', ...rule } as NamedRule },
  });
  const IP = '203.0.113.7';
  const OPS = { by: 'ops' };

  it('permits that are held stay as many', async () => {
    const rule = { algorithm: 'concurrency', window: undefined, limit: 10 };
    const app = await startLiveApp(new MemoryRuleSource(), options(rule));
    for (let nth = 0; nth < 4; nth++) await app.limits.hold('login', IP);
    const remaining = async () => (await app.limits.peek('login', IP, { cost: 0 })).remaining;
    const before = await remaining();
    await app.rules.set('login', { limit: 20 }, OPS);
    expect([before, await remaining()]).toEqual([6, 16]);
  });

  it('a reset deletes the counters of every window that the rule has had, in the code and by a live change', async () => {
    const app = await startLiveApp(new MemoryRuleSource(), options({ limit: 10, algorithm: 'gcra' }));
    const remaining = async () => (await app.limits.peek('login', IP, { cost: 0 })).remaining;
    await app.limits.consume('login', IP, { cost: 4 });
    await app.rules.set('login', { window: '1d' }, OPS);
    await app.limits.consume('login', IP, { cost: 3 });
    expect(await remaining()).toBe(7);
    expect(await app.limits.reset('login', IP)).toBe(true);
    expect(await remaining()).toBe(10);
    await app.rules.unset('login', OPS);
    expect(await remaining()).toBe(10);
  });

  it.each([
    { title: 'programs', rule: 'login', counter: 'login', subject: IP },
    {
      title: 'a route',
      rule: 'search',
      counter: { route: [Pages, 'search'] as const, rule: 'search' },
      subject: 'acme',
    },
  ])('a reset deletes the counters of windows that live changes have replaced, of $title', async (each) => {
    const { rule, counter, subject } = each;
    const app = await startLiveApp(new MemoryRuleSource(), options({ limit: 10, algorithm: 'gcra' }));
    const windows = ['1d', '1w', '2d'] as const;
    const visit = async (use: () => Promise<unknown>) => {
      for (const window of windows) {
        await app.rules.set(rule, { window, limit: 10 }, OPS);
        await use();
      }
      await app.rules.unset(rule, OPS);
    };
    await visit(() => app.limits.consume(counter, subject, { cost: 4 }));
    expect(await app.limits.reset(counter, subject)).toBe(true);
    const left: number[] = [];
    await visit(async () => left.push((await app.limits.peek(counter, subject, { cost: 0 })).remaining));
    expect(left).toEqual([10, 10, 10]);
  });

  it('no other inherit is accepted than a reset', async () => {
    const app = await startLiveApp(new MemoryRuleSource(), options({ limit: 10, algorithm: 'gcra' }));
    const change = { ...OPS, inherit: 'proportional' } as never;
    await expect(app.rules.set('login', { limit: 3 }, change)).rejects.toThrow(
      'inherit: got "proportional"; allowed: "reset"',
    );
  });
});
