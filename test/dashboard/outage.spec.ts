import { afterEach, describe, expect, it } from '@jest/globals';
import { closeApps } from '../support/nest-app.js';
import { startProxy } from '../support/redis/proxy.js';
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
    await until(async () => (await snapshot()).problem !== null, 'the problem to be shown');
    const { problem, processes, shares, rules, from } = await snapshot();
    expect(problem).toMatch(/^Redis cannot be read \(.+\): these are the figures of one process\.$/);
    expect([from, processes.length, shares.fallback > 0, rules.length]).toEqual(['redis', 1, true, 2]);
    expect((await change('preview', { rule: 'login', fields: { limit: 1 } })).status).toBe(200);
  });

  it('shows a breaker as half open while a probe waits for a reply', async () => {
    const server = await startRedisServer();
    const proxy = await startProxy(server);
    const { host, port } = proxy;
    const { login, snapshot } = await startDashboard({
      limits: { redis: { host, port }, prefix: 'h:', timeout: 500 },
    });
    const stateIs = (state: string) => async (): Promise<boolean> =>
      (await snapshot()).servers[0]?.state === state;
    await until(async () => (await snapshot()).processes.length === 1, 'the page');
    proxy.each((connection) => connection.stall());
    const isTried = stateIs('half-open');
    await until(async () => {
      await login('203.0.113.7');
      return isTried();
    }, 'the breaker to be half open');
    proxy.each((connection) => connection.reset());
    await until(stateIs('open'), 'the breaker to be open');
    proxy.each(() => undefined);
    await until(stateIs('closed'), 'the breaker to close', 30_000);
    await closeApps();
    await proxy.close();
    await server.stop();
  });
});
