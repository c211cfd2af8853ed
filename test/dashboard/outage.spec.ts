import { afterEach, describe, expect, it } from '@jest/globals';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

describe('the operations page without Redis', () => {
  it('shows its own process, the open breaker and the share of the fallback', async () => {
    const server = await startRedisServer();
    const { host, port } = server;
    const { login, snapshot, change } = await startDashboard({
      limits: { redis: { host, port }, prefix: 'o:' },
    });
    await until(async () => (await snapshot()).processes.length === 1, 'the page');
    await server.stop();
    await until(async () => (await snapshot()).servers[0]?.state === 'open', 'the breaker to open');
    await login('203.0.113.7');
    await until(async () => (await snapshot()).problem !== undefined, 'the problem to be shown');
    const { problem, processes, shares, rules, from } = await snapshot();
    expect(problem).toMatch(/^Redis cannot be read \(.+\): these are the figures of one process\.$/);
    expect([from, processes.length, shares.fallback > 0, rules.length]).toEqual(['redis', 1, true, 2]);
    expect((await change('preview', { rule: 'login', fields: { limit: 1 } })).status).toBe(200);
  });
});
