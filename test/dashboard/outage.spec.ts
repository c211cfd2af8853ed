import { afterEach, describe, expect, it } from '@jest/globals';
import { closeApps } from '../support/nest-app.js';
import { startProxy } from '../support/redis/proxy.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { RedisRuleSource } from '../../lib/redis.js';
import { startDashboard } from './dashboard-app.js';

const WAIT = 60_000;

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
    await until(async () => (await snapshot()).allUntil !== null, 'the problem to be shown');
    await until(async () => (await snapshot()).shares.fallback > 0, 'the second of the decision to end');
    const { problems, processes, rules, from } = await snapshot();
    expect(problems[0]!.text).toMatch(/^Redis cannot be read \(.+\): .* are the last known ones\.$/);
    expect([from, processes.length, rules.length]).toEqual(['redis', 1, 2]);
    expect((await change('rules/preview', { rule: 'login', fields: { limit: 1 } })).status).toBe(200);
  });

  it('shows a breaker as half open while a probe waits for a reply', async () => {
    const server = await startRedisServer();
    const proxy = await startProxy(server);
    const { host, port } = proxy;
    const { login, snapshot } = await startDashboard({
      limits: { redis: { host, port }, prefix: 'h:', timeout: 2000 },
    });
    const stateIs = (state: string) => async (): Promise<boolean> =>
      (await snapshot()).servers[0]?.state === state;
    await until(stateIs('closed'), 'the page');
    proxy.each((connection) => connection.stall());
    const answered = Promise.allSettled(['203.0.113.7', '203.0.113.8', '203.0.113.9'].map(login));
    await until(stateIs('half-open'), 'the breaker to be half open', WAIT);
    proxy.each((connection) => connection.reset());
    await until(stateIs('open'), 'the breaker to be open', WAIT);
    proxy.each(() => undefined);
    await until(stateIs('closed'), 'the breaker to close', WAIT);
    await answered;
    await closeApps();
    await proxy.close();
    await server.stop();
  });

  it('says that a change was not confirmed, and may have been made, while Redis hangs', async () => {
    const server = await startRedisServer();
    const { host, port } = server;
    const source = new RedisRuleSource({ redis: { host, port } });
    const { change, ask, snapshot } = await startDashboard({
      limits: { redis: { host, port }, prefix: 'c:', liveRules: source },
    });
    await until(async () => (await snapshot()).processes.length === 1, 'the page');
    await server.pause();
    const fields = { rule: 'login', version: 0, fields: { limit: 2 } };
    const { status, body } = await change('rules/set', fields);
    expect([status, body]).toEqual([
      503,
      expect.stringMatching(/did not confirm the change.*It may have been made/),
    ]);
    const history = await ask('history');
    expect([history.status, history.body]).toEqual([503, expect.stringContaining('could not be read')]);
    await server.resume();
    await closeApps();
    await server.stop();
  });
});
