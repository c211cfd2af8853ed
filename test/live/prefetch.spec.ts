import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { closeApps } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';
import { untilPrefetching } from '../support/until-prefetching.js';
import { startLiveApp } from './live-app.js';

const OPS = { by: 'ops' };
const IP = '203.0.113.7';

afterEach(closeApps);

describe('prefetched permits after a live change', () => {
  async function start() {
    const login = {
      ...{ window: '1h', limit: 100, by: 'ip', algorithm: 'gcra' },
      prefetch: { permits: 10, ttl: '1h' },
    };
    const app = await startLiveApp(
      new MemoryRuleSource(),
      { prefix: uniquePrefix(), onDemand: { login: login as NamedRule } },
      virtualStore('redis', new VirtualTime()),
    );
    await untilPrefetching(app.limits);
    const ask = async () => {
      const { allowed, source } = await app.limits.consume('login', IP);
      return `${source} ${allowed ? 'allows' : 'denies'}`;
    };
    const left = async () => (await app.limits.usage(IP, ['login']))[0]!.remaining;
    return { ...app, ask, left };
  }

  it('they are not used any more: the next request asks Redis, by the new limit', async () => {
    const { ask, rules } = await start();
    expect([await ask(), await ask(), await ask()]).toEqual(['redis allows', 'cache allows', 'cache allows']);
    await rules.set('login', { limit: 10, prefetch: { permits: 2, ttl: '1h' } }, OPS);
    expect(await ask()).toMatch(/^redis/);
  });

  it('they are refunded with the next request, so that none is lost', async () => {
    const { ask, left, rules } = await start();
    await ask();
    await rules.set('login', { limit: 50 }, OPS);
    expect(await ask()).toBe('redis allows');
    // One permit is used, nine are refunded, and ten are prefetched by the new rule.
    await until(async () => (await left()) === 39, 'the unused permits');
  });

  it('a change to an algorithm without prefetch drops it, and one that states it is refused', async () => {
    const { ask, rules } = await start();
    await rules.set('login', { algorithm: 'sliding-window-log' }, OPS);
    expect([await ask(), await ask()]).toEqual(['redis allows', 'redis allows']);
    const wrong = rules.set('login', { algorithm: 'leaky-bucket', prefetch: { permits: 2 } }, OPS);
    await expect(wrong).rejects.toThrow('prefetch');
  });

  it('a limit of 0 closes the rule', async () => {
    const { ask, rules } = await start();
    await ask();
    await rules.set('login', { limit: 0 }, OPS);
    expect(await ask()).toBe('redis denies');
    await rules.unset('login', OPS);
    expect(await ask()).toBe('redis allows');
  });
});
