import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { startLiveApp } from './live-app.js';

const IP = '203.0.113.7';
const HOUR_MS = 3_600_000;
const HOUR = { by: 'ops', expires: '1h' } as const;

afterEach(closeApps);

async function start() {
  const rule = { window: '1m', limit: 10, by: 'ip' } as const;
  return startLiveApp(new MemoryRuleSource(), { prefix: uniquePrefix(), onDemand: { login: rule } });
}

describe('a denial by a live change that ends', () => {
  it.each(['an exception', 'a limit of 0'])('tells the client until when it applies: %s', async (kind) => {
    const { limits, rules } = await start();
    if (kind === 'an exception') await rules.setException('login', IP, 'deny', HOUR);
    else await rules.set('login', { limit: 0 }, HOUR);
    const { allowed, retryAfterMs, resetAfterMs } = await limits.consume('login', IP);
    expect(allowed).toBe(false);
    for (const wait of [retryAfterMs!, resetAfterMs]) {
      expect(wait).toBeGreaterThan(HOUR_MS / 2);
      expect(wait).toBeLessThanOrEqual(HOUR_MS);
    }
  });

  it('has no wait if the change has no end, also if another one of the rule ends', async () => {
    const { limits, rules } = await start();
    await rules.set('login', { limit: 3 }, HOUR);
    await rules.setException('login', IP, 'deny', { by: 'ops' });
    expect((await limits.consume('login', IP)).retryAfterMs).toBeNull();
  });
});
