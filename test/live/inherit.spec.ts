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

/** A source whose changes never reach its process: one that has not learned of them yet. */
const unheard: RuleSource = { load: async () => ({ version: 0, entries: [] }), watch: () => () => undefined };

afterEach(closeApps);

describe.each(CASES)(
  '$algorithm from $from to $to permits, in processes of which one has not learned it',
  (each) => {
    /** Sends requests of one subject to both processes in turn. Returns how many are allowed. */
    const allowedOf = async (inherit: 'absolute' | 'reset', before: number) => {
      const { algorithm, from, to } = each;
      const options = {
        redis: redisUrl(),
        prefix: uniquePrefix(),
        onDemand: { login: { window: '1h', limit: from, by: 'ip', algorithm } as NamedRule },
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

    it('a reset allows at most the sum of both limits', async () => {
      expect(await allowedOf('reset', 6)).toBe(9);
    });
  },
);
