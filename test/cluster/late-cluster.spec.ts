import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimitHealth, RateLimitModule, type RateLimitModuleOptions, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const RULE: Rule = { name: 'few', window: '1h', limit: 5, algorithm: 'fixed-window' };
/** Enough subjects for every node to have some. */
const SUBJECTS = Array.from({ length: 24 }, (_, nth) => `user-${nth}`);

const NO_INFO = 'user blind on >s3cret ~* &* +@all -info';
const BLIND = { username: 'blind', password: 's3cret' };

@Controller()
class Routes {
  @Get() get() {}
}

describe('a node of a Redis Cluster that is down at start', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false, config: [NO_INFO] });
  });
  beforeEach(() => Promise.all(cluster.nodes.map((node) => node.kill())));
  afterEach(closeApps);
  afterAll(() => cluster.close());

  async function start(redis: RateLimitModuleOptions['redis'], prefix = uniquePrefix()) {
    const options: RateLimitModuleOptions = { redis, prefix, timeout: 10_000, instances: 5 };
    const { app, logs } = await startApp(
      { imports: [RateLimitModule.forRoot(options)], controllers: [Routes] },
      { framework: 'express' },
    );
    const limiter = app.get(RateLimiter);
    const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
    return { limiter, logs, health, prefix };
  }

  async function startNodes() {
    await Promise.all(cluster.nodes.map((node) => node.restart()));
    await cluster.untilWhole();
  }

  /** Whether Redis decides the requests of all subjects, on every node. */
  async function isDecidedByRedis(limiter: RateLimiter) {
    const peeks = await Promise.all(SUBJECTS.map((subject) => limiter.peek(RULE, subject)));
    return peeks.every(({ source }) => source === 'redis');
  }

  /** Sends more requests than the limit for every subject, through two processes, and checks the decisions. */
  async function expectExact(limiters: readonly RateLimiter[]) {
    for (const subject of SUBJECTS) {
      const asked = Array.from({ length: 8 }, (_, nth) =>
        limiters[nth % limiters.length]!.consume(RULE, subject),
      );
      const decisions = await Promise.all(asked);
      expect(decisions.filter(({ source }) => source === 'fallback')).toEqual([]);
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    }
  }

  const place = () => ({ host: cluster.nodes[0]!.host, port: cluster.nodes[0]!.port });

  it.each([
    ['a URL', () => cluster.nodes[0]!.url],
    ['options', () => ({ ...place(), keyPrefix: 'app:' })],
  ])(
    'a Cluster node that is reached late through %s is connected as a Cluster with exact limits on all nodes',
    async (_, redis) => {
      const first = await start(redis());
      expect(await first.limiter.consume(RULE, SUBJECTS[0]!)).toMatchObject({ source: 'fallback' });
      await startNodes();
      await until(async () => !(await first.health()).degraded, 'the application to recover', 30_000);
      const second = await start(redis(), first.prefix);
      await expectExact([first.limiter, second.limiter]);
      expect(await first.health()).toMatchObject({ status: 'up', degraded: false, servers: [] });
      const lines = first.logs.ours().map(({ level, message }) => `${level} ${message}`);
      expect(lines[0]).toMatch(
        /^warn Redis could not decide \(no connection to Redis at \S+ \(ECONNREFUSED\); no server listens there: /,
      );
      expect(lines).toContain('log Redis decides again.');
      expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
      expect(second.logs.ours()).toEqual([]);
    },
  );

  it('a Cluster node that denies the topology query is connected as a Cluster after its first MOVED', async () => {
    const { limiter, health } = await start({ ...place(), ...BLIND, enableReadyCheck: false });
    await startNodes();
    await until(() => isDecidedByRedis(limiter), 'all nodes to decide', 30_000);
    await expectExact([limiter]);
    // A reply to the connection before it may have come last: its probe succeeds.
    await until(async () => !(await health()).degraded, 'health to recover', 30_000);
    expect(await health()).toMatchObject({ status: 'up', degraded: false, servers: [] });
  });

  it("a user's plain client on a late Cluster node is not replaced and stays an error in log, breaker and health", async () => {
    const mine = new Redis({ ...place(), retryStrategy: () => 50 });
    mine.on('error', () => undefined);
    const { limiter, logs, health } = await start(mine);
    await startNodes();
    const isReported = async () => (await health()).reason?.includes('one node of a Redis Cluster') === true;
    await until(isReported, 'the health to say why', 30_000);
    for (const subject of SUBJECTS) {
      expect(await limiter.consume(RULE, subject)).toMatchObject({ source: 'fallback' });
    }
    expect(limiter.events.openCircuits.get('')).toMatchObject({ kind: 'topology' });
    expect(logs.ours().map(({ level }) => level)).toEqual(['warn', 'error']);
    expect(logs.ours()[1]!.message).toContain('is one node of a Redis Cluster and does not serve all slots');
    mine.disconnect();
  });
});
