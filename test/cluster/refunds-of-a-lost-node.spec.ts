import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import type { Decision, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import type { ClusterServers } from '../../lib/stores/redis/link/topology.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const RULE: Rule = { limit: 100, window: '1w', algorithm: 'fixed-window' };
const CHARGES = 10;

describe('refunds while a node of a cluster has no connection', () => {
  let cluster: RedisCluster;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeAll(async () => {
    const durable = ['appendonly yes', 'appendfsync always'];
    cluster = await startCluster({
      replicas: false,
      config: [...durable, 'cluster-require-full-coverage no'],
    });
    store = await RedisStore.open({ redis: cluster.nodes[0]!.url, timeout: 100 });
    limiter = new RateLimiter({ store, prefix: uniquePrefix() });
  });

  afterAll(async () => {
    await limiter.close();
    await store.close();
    await cluster.close();
  });

  const remaining = async (subject: string) => {
    const { source, remaining: left } = await limiter.peek(RULE, subject, { cost: 0 });
    return source === 'redis' ? left : undefined;
  };

  it('are made when it is back, since no server can have made them', async () => {
    const node = cluster.nodes[1]!;
    const isOfNode = await cluster.slotsOf(node);
    const all = Array.from({ length: 60 }, (_, nth) => `s${nth}`);
    const subjects = all.filter((each) => isOfNode(calculateSlot(each)));
    const charge = async (subject: string): Promise<Decision[]> => {
      await until(async () => (await remaining(subject)) === 100, 'Redis to decide');
      const asked = Array.from({ length: CHARGES }, () => limiter.consume(RULE, subject));
      return Promise.all(asked);
    };
    const charges = await Promise.all(subjects.map(charge));
    await node.kill();
    // What is written before the connection has ended may have been executed, and is not repeated.
    const { cluster: servers } = (store as unknown as { current: { cluster: ClusterServers } }).current;
    const address = `${node.host}:${node.port}`;
    await until(() => servers.nodeOf(address) === undefined, 'the connection to end');
    for (let nth = 0; nth < CHARGES; nth += 1) {
      await Promise.all(charges.map((each) => limiter.refund(each[nth]!)));
      await sleep(nth); // Calls of several turns, before and after the circuit has opened.
    }
    await node.restart();
    for (const subject of subjects)
      await until(async () => (await remaining(subject)) === 100, 'all refunds to be made', 20_000);
  }, 60_000);
});
