import { afterEach, expect, it } from '@jest/globals';
import { RedisRuleSource } from '../../lib/redis.js';
import { startDashboard } from '../dashboard/dashboard-app.js';
import { closeApps } from '../support/nest-app.js';
import { RedisKeys } from '../support/redis-keys.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

afterEach(closeApps);

it('every key expires but those of live rules and the secret of the operations page', async () => {
  const prefix = uniquePrefix();
  const redis = redisUrl();
  const login = { window: '1h', limit: 1, by: 'ip', block: '10m' } as const;
  const liveRules = new RedisRuleSource({ redis, key: `${prefix}rules` });
  const app = await startDashboard({ limits: { prefix, redis, liveRules, onDemand: { login } } });
  while ((await app.login('203.0.113.7')).status !== 429);
  const body = { rule: 'login', fields: { limit: 2 }, version: 0, reason: 'a test' };
  expect((await app.change('rules/set', body)).status).toBe(200);
  await app.snapshot();
  const keys = new RedisKeys(redis, '*');
  const names = (await keys.names()).filter((name) => name.includes(prefix));
  const kept: string[] = [];
  for (const name of names) if ((await keys.redis.pttl(name)) === -1) kept.push(name);
  keys.redis.disconnect();
  expect(names.length).toBeGreaterThan(5);
  expect(kept).toEqual([
    `${prefix}{instances}:secret`,
    `{${prefix}rules}`,
    `{${prefix}rules}:history`,
    `{${prefix}rules}:version`,
  ]);
});
