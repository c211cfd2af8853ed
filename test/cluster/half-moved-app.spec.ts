import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { RateLimitEvents, RateLimitHealth, RateLimitModule, type StoreErrorEvent } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { HalfMove } from './half-move.js';

const hour = {
  window: '1h',
  limit: 500,
  algorithm: 'fixed-window',
  scope: 'shared',
  by: () => 'ann',
} as const;
const MOVING = 'is moving a slot, whose keys are on two servers (TRYAGAIN)';

@Controller()
class Routes {
  @Get() get() {}
}

describe('an application and a slot of which one of two keys has moved', () => {
  let cluster: RedisCluster;
  let mine: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    mine = new Cluster(cluster.startNodes);
  });
  afterEach(closeApps);
  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  it('an application reports requests beyond the deadline during a slot move in one log line, health and events, without opening a breaker', async () => {
    const prefix = uniquePrefix();
    const { app, logs, get } = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({ redis: mine, prefix, timeout: 500, rules: { a: hour, b: hour } }),
        ],
        controllers: [Routes],
      },
      { framework: 'express' },
    );
    const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
    const events = app.get(RateLimitEvents);
    const seen = { sources: [] as string[], errors: [] as StoreErrorEvent[], turns: [] as string[] };
    events.on('decision', ({ decision }) => seen.sources.push(decision.source));
    events.on('storeError', (event) => seen.errors.push(event));
    events.on('breaker', ({ state }) => seen.turns.push(state));
    const isDecidedByRedis = async () => (await get('/')) && seen.sources.at(-1) === 'redis';
    await until(isDecidedByRedis, 'Redis to decide', 30_000);
    expect(seen).toMatchObject({ errors: [], turns: [] });
    const move = await HalfMove.of(cluster, 'ann');
    await move.begin(`${prefix}{ann}:a:fixed-window2/3600000`);
    seen.sources.length = 0;
    const statuses = await Promise.all([get('/'), get('/')]);
    expect(statuses.map(({ status }) => status)).toEqual([200, 200]);
    expect(seen.sources).toEqual(['fallback', 'fallback']);
    expect(seen.errors).toMatchObject(
      [1, 2].map(() => ({ call: 'decision', error: { kind: 'moving', code: 'TRYAGAIN' } })),
    );
    expect(await health()).toMatchObject({
      status: 'up',
      degraded: true,
      reason: expect.stringContaining(MOVING),
      servers: [expect.anything()],
    });
    expect(logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not decide a request \(.*\); this kind of error is logged once\. \(RL_REDIS_ERROR, see docs\/warnings\.md\)$/,
        ),
      },
    ]);
    expect(logs.ours()[0]!.message).toContain(MOVING);
    await move.close();
    await until(isDecidedByRedis, 'Redis to decide again', 30_000);
    expect(seen.turns).toEqual([]);
  });
});
