import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { startProxy } from '../support/redis/proxy.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { hitsOn, sourcesOf, subjectsApart, type On } from './places.js';

const rule: Rule = { limit: 1000, window: '1w', algorithm: 'fixed-window' };

describe('a store that has just been opened on a cluster', () => {
  let cluster: RedisCluster;
  let mine: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    mine = new Cluster(cluster.startNodes);
  });

  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  it('Redis decides the first request on every node of a cluster', async () => {
    const places = (await subjectsApart(cluster)).map((subject): On => [rule, subject]);
    const prefix = uniquePrefix();
    for (let nth = 1; nth <= 20; nth++) {
      const store = new RedisStore({ redis: mine, timeout: 10_000 });
      const limiter = new RateLimiter({ store, prefix });
      const decision = await limiter.engine.decide(hitsOn(limiter, places));
      await store.close();
      expect(sourcesOf(decision)).toEqual(['redis', 'redis', 'redis']);
      expect(decision.remaining).toBe(1000 - nth);
    }
  });

  it('closes the connection that led to the cluster, although it hangs', async () => {
    const proxy = await startProxy(cluster.nodes[0]!);
    proxy.each(() => proxy.accepted > 1 && proxy.connections[0]!.lose());
    const store = await RedisStore.open({ redis: proxy.url });
    await store.close();
    await until(() => proxy.connections.length === 0, 'all connections to be closed');
    await proxy.close();
  });
});
