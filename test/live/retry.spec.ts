import { afterEach, describe, expect, it } from '@jest/globals';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { AlgorithmName } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { closeApps } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, virtualStore, VirtualTime } from '../support/virtual-store.js';
import { startLiveApp } from './live-app.js';

/** All but concurrency, whose permits are held until they are released. */
const NAMES = (Object.keys(algorithms) as AlgorithmName[]).filter((name) => !algorithms[name].leases);

const CASES = [
  ...NAMES.flatMap((algorithm) =>
    ([undefined, 'reset'] as const).map((inherit) => ({ algorithm, inherit, options: {} })),
  ),
  { algorithm: 'gcra', inherit: undefined, options: { share: {} } },
  { algorithm: 'gcra', inherit: 'reset', options: { share: {} } },
] as const;

/** A generator of integers (Lehmer), so that the changes are the same everywhere. */
function generator() {
  let state = 20_240_229;
  return (most: number) => (state = (state * 48_271) % 2_147_483_647) % most;
}

const WINDOWS = [1, 2, 3, 7, 10, 60];
const CHANGES = 40;

afterEach(closeApps);

describe.each(STORES)('a client that is denied after a live change, with %s', (kind) => {
  it.each(CASES)(
    '$algorithm, $inherit, $options: it is allowed when it has waited as long as it is told',
    async ({ algorithm, inherit, options }) => {
      const time = new VirtualTime();
      const draw = generator();
      const rule = { window: '1s', limit: 1, by: 'x-tenant', algorithm, ...options };
      const { limits, rules } = await startLiveApp(
        new MemoryRuleSource(),
        { prefix: uniquePrefix(), onDemand: { login: rule as NamedRule } },
        virtualStore(kind, time),
      );
      const change = () => ({ limit: 1 + draw(6), window: `${WINDOWS[draw(WINDOWS.length)]}s` });
      const ask = (tenant: string, cost = 1) => limits.consume('login', tenant, { cost });
      let denials = 0;
      for (let nth = 0; nth < CHANGES; nth++) {
        const tenant = `tenant ${nth}`;
        await rules.set('login', change(), { by: 'ops' });
        for (let request = draw(8); request >= 0; request--) {
          await ask(tenant);
          time.advance(draw(900));
        }
        const next = nth === 0 ? { limit: 1, window: '10s' } : change();
        await rules.set('login', next, { by: 'ops', ...(inherit === 'reset' && { inherit }) });
        for (let request = 0; request < 12; request++) {
          const cost = 1 + draw(next.limit);
          const { allowed, retryAfterMs } = await ask(tenant, cost);
          if (allowed || retryAfterMs === null) continue;
          denials += 1;
          time.advance(retryAfterMs);
          expect([next, retryAfterMs, (await ask(tenant, cost)).allowed]).toEqual([next, retryAfterMs, true]);
        }
      }
      expect(denials).toBeGreaterThan(CHANGES);
    },
    60_000,
  );
});
