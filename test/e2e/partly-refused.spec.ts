import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimiter, RateLimitHealth, RateLimitModule, type Rule } from '../../lib/index.js';
import { askServer } from '../support/redis/ask-server.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { hasRedisBinary } from '../support/redis/shared-redis.js';
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

/** An application whose user of Redis has all rights but these. */
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

(hasRedisBinary() ? describe : describe.skip)('a user of Redis who lacks a command', () => {
  it.each([
    ['that reads one algorithm', 'lindex', (limiter: RateLimiter) => limiter.consume(log, 'ann')],
    ['that writes one algorithm', 'rpush', (limiter: RateLimiter) => limiter.consume(log, 'ann')],
    [
      'that takes permits',
      'zadd',
      (limiter: RateLimiter) =>
        limiter.enter({ name: 'held', algorithm: 'concurrency', limit: 2, lease: '1m' }, 'ann'),
    ],
  ])('%s is told once, and the breaker stays open until it is granted', async (_title, right, ask) => {
    const { server, limiter, logs, turns, health } = await startWithout(right);
    await ask(limiter);
    const before = await refusedTimes(server);
    await until(async () => (await refusedTimes(server)) >= before + 3, 'three probes', 20_000);
    expect(turns).toEqual(['open']);
    // Heartbeats take ZADD as well, and say so by a warning of their own.
    expect(logs.ours().filter(({ level }) => level === 'error')).toHaveLength(1);
    expect((await health()).reason).toMatch(/NOPERM/);
    await askServer(server, 'ACL', 'SETUSER', 'limiter', `+${right}`);
    await until(() => turns.length === 2, 'the breaker to close', 20_000);
    expect((await limiter.consume(log, 'bob')).source).toBe('redis');
    await until(async () => {
      const keys = (await askServer(server, 'KEYS', '*probe*')) as string[];
      return keys.length === 0;
    }, 'nothing to be left of the probes');
  });

  it('that only heartbeats need is told once, and decisions stay those of Redis', async () => {
    const { limiter, logs, turns } = await startWithout('zremrangebyscore');
    const isTold = () => logs.ours().some(({ message }) => message.includes('NOPERM'));
    await until(isTold, 'the line in the log', 20_000);
    expect((await limiter.consume(plain, 'ann')).source).toBe('redis');
    expect(turns).toEqual([]);
    expect(limiter.instanceCount).toBe(1);
    expect(logs.ours().filter(({ message }) => message.includes('NOPERM'))).toHaveLength(1);
  });
});
