import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitHealth, RateLimitModule, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { askServer } from '../support/redis/ask-server.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const hour = { window: '1h', limit: 5 } as const;
const plain: Rule = { ...hour, name: 'plain', algorithm: 'fixed-window' };
const log: Rule = { ...hour, name: 'log', algorithm: 'sliding-window-log' };

const servers: RedisServer[] = [];

afterEach(async () => {
  await closeApps();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

/** Starts an application whose Redis user has all rights except these. */
async function startWithout(...rights: string[]) {
  const server = await startRedisServer({
    config: [`user limiter on >s3cret ~* &* +@all ${rights.map((right) => `-${right}`).join(' ')}`],
  });
  servers.push(server);
  const { app, logs } = await startApp(
    {
      imports: [
        RateLimitModule.forRoot({
          redis: `redis://limiter:s3cret@127.0.0.1:${server.port}`,
          rules: { default: { ...hour, algorithm: 'fixed-window' } },
          onStoreError: 'local',
          timeout: 10_000,
        }),
      ],
      controllers: [Routes],
    },
    { framework: 'express' },
  );
  const limiter = app.get(RateLimiter);
  const turns: string[] = [];
  limiter.events.on('breaker', ({ state }) => turns.push(state));
  const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
  return { server, limiter, logs, turns, health };
}

const refusedTimes = async (server: RedisServer) =>
  ((await askServer(server, 'ACL', 'LOG')) as unknown[][]).reduce(
    (sum, fields) => sum + Number(fields[fields.indexOf('count') + 1]),
    0,
  );

describe('a user of Redis without a right', () => {
  it.each([
    ['that reads one algorithm', 'lindex', (limiter: RateLimiter) => limiter.consume(log, 'ann')],
    ['that writes one algorithm', 'rpush', (limiter: RateLimiter) => limiter.consume(log, 'ann')],
    [
      'that takes permits',
      'zadd',
      async (limiter: RateLimiter) => {
        const rule = { name: 'held', algorithm: 'concurrency', limit: 2, lease: '1m' } as const;
        await (await limiter.hold(rule, 'ann')).release();
      },
    ],
  ])('%s is named in the log, and the breaker stays open until it is granted', async (_title, right, ask) => {
    const { server, limiter, logs, turns, health } = await startWithout(right);
    await ask(limiter);
    const before = await refusedTimes(server);
    await until(async () => (await refusedTimes(server)) >= before + 3, 'three probes', 20_000);
    expect(turns).toEqual(['open']);
    const [ofHeartbeats, others] = [true, false].map((isOf) =>
      logs.ours().filter(({ message }) => message.includes('count the processes') === isOf),
    );
    // The rule is passed by a program, so it becomes known with its first use. Redis names the command from 7.2 on.
    for (const { level, message } of others!) {
      expect([level, message]).toEqual([
        'error',
        expect.stringMatching(/does not permit (a|the) command .*NOPERM/),
      ]);
    }
    expect(others!.length).toBeLessThanOrEqual(2);
    expect(others!.at(-1)!.message).toContain(`does not permit the command ${right.toUpperCase()}`);
    // These requests also need ZADD. The second one fails if it is sent before the breaker has opened.
    expect(ofHeartbeats!.length).toBeLessThanOrEqual(right === 'zadd' ? 1 : 0);
    expect((await health()).reason).toMatch(/NOPERM/);
    await askServer(server, 'ACL', 'SETUSER', 'limiter', `+${right}`);
    await until(() => turns.length === 2, 'the breaker to close', 20_000);
    expect((await limiter.consume(log, 'bob')).source).toBe('redis');
    await until(async () => {
      const keys = (await askServer(server, 'KEYS', '*probe*')) as string[];
      return keys.length === 0;
    }, 'nothing to be left of the probes');
  });

  it('a missing right of heartbeats is logged once, and health reports a stale number of processes', async () => {
    const { server, limiter, logs, turns, health } = await startWithout('zcount');
    const failures: string[] = [];
    limiter.events.on('storeError', ({ call }) => failures.push(call));
    await until(() => failures.length >= 3, 'three heartbeats to fail', 20_000);
    expect((await limiter.consume(plain, 'ann')).source).toBe('redis');
    expect(turns).toEqual([]);
    expect(new Set(failures)).toEqual(new Set(['heartbeat']));
    expect(limiter.instanceCount).toBe(1);
    expect(logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not count the processes that share the limits \(.*NOPERM.*\); the last number applies, at least `instances`, which is 1 unless you set it; this kind of error is logged once\. \(RL_REDIS_ERROR, see docs\/warnings\.md\)$/,
        ),
      },
    ]);
    const { degraded, reason, instancesStale } = await health();
    expect([degraded, reason]).toEqual([false, undefined]);
    expect(instancesStale).toMatch(/does not permit .*\(NOPERM\)/);
    await askServer(server, 'ACL', 'SETUSER', 'limiter', '+zcount');
    await until(async () => !('instancesStale' in (await health())), 'the next heartbeat', 20_000);
  }, 60_000);
});
