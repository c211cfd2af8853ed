import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
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

describe('a cluster whose start address changes', () => {
  const cluster = { old: undefined as RedisCluster | undefined, next: undefined as RedisCluster | undefined };

  afterEach(async () => {
    await cluster.old?.close();
    await cluster.next?.close();
  });

  it.each([
    ['a URL', (proxy: Proxy) => proxy.url],
    [
      'a Cluster',
      (proxy: Proxy) => new Cluster([{ host: proxy.host, port: proxy.port }], { lazyConnect: true }),
    ],
  ])('is found again by %s through the nodes that it had, and through that address', async (_, redis) => {
    const old = (cluster.old = await startCluster({ replicas: false }));
    const proxy = await startProxy(old.nodes[0]!);
    const store = await RedisStore.open({ redis: redis(proxy) });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    const subjects = Array.from({ length: 24 }, (_, nth) => `s${nth}`);
    const isDecidedBy = async (source: string) => {
      const decisions = await Promise.all(subjects.map((subject) => limiter.consume(rule, subject)));
      return decisions.every((decision) => decision.source === source);
    };
    const nowhere = { host: proxy.host, port: 1 };
    await until(() => isDecidedBy('redis'), 'all nodes to decide', 20_000);

    proxy.target = nowhere;
    for (const connection of proxy.connections) connection.reset();
    await Promise.all(old.nodes.map((node) => node.kill()));
    await until(() => isDecidedBy('fallback'), 'the fallback to decide', 20_000);
    await Promise.all(old.nodes.map((node) => node.restart()));
    await until(() => isDecidedBy('redis'), 'the nodes to decide again', 30_000);

    await old.close();
    const next = (cluster.next = await startCluster({ replicas: false }));
    [proxy.target] = next.nodes as [RedisServer, ...RedisServer[]];
    await until(() => isDecidedBy('redis'), 'the next nodes to decide', 30_000);
    await limiter.close();
    await store.close();
    await proxy.close();
  });
});
