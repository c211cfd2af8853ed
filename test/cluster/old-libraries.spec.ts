import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { RedisStore } from '../../lib/redis.js';
import { library } from '../../lib/stores/redis/wire/library.js';
import { askServer } from '../support/redis/ask-server.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

const HOUR = 3_600_000;
const OTHER = 'nestjs_redis_rate_limit_000000000000';

(hasFunctions ? describe : describe.skip)('libraries of several releases on a Cluster', () => {
  const time = new VirtualTime();
  let cluster: RedisCluster;
  let client: Cluster;
  let store: RedisStore;

  beforeAll(async () => {
    cluster = await startCluster();
    client = new Cluster(cluster.startNodes);
    store = new RedisStore({ redis: client, clock: time.clock, timeout: 10_000, connectTimeout: 30_000 });
    await beat();
  });

  afterAll(async () => {
    await store.close();
    client.disconnect();
    await cluster.close();
  });

  const masters = (): readonly RedisServer[] => cluster.nodes.slice(0, 3);
  const load = async (node: RedisServer) => {
    await askServer(node, 'FUNCTION', 'LOAD', 'REPLACE', library().text.replaceAll(library().name, OTHER));
  };
  const has = async (node: RedisServer) =>
    JSON.stringify(await askServer(node, 'FUNCTION', 'LIST')).includes(OTHER);
  const holders = async (nodes = masters()) => {
    const all = await Promise.all(nodes.map(has));
    return nodes.filter((_, nth) => all[nth]);
  };
  const beat = () => store.heartbeat({ key: 'rl:{instances}', instance: 'a', duration: 15e6 });
  const looks = async (node: RedisServer) => {
    const stats = String(await askServer(node, 'INFO', 'commandstats'));
    return Number(/cmdstat_function\|list:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };

  /** A heartbeat an hour later, with which the process looks for libraries that no process uses, on every master. */
  async function hourly(nodes = masters()): Promise<void> {
    time.advance(HOUR);
    const before = await Promise.all(nodes.map(looks));
    await beat();
    const hasLooked = async () =>
      (await Promise.all(nodes.map(looks))).every((now, nth) => now > before[nth]!);
    await until(hasLooked, 'the process to look at every master');
    await sentTo(nodes);
  }

  /** Waits until every master has answered what the process has sent so far. */
  async function sentTo(nodes: readonly RedisServer[]): Promise<void> {
    for (const { port } of nodes) {
      const { current } = store as unknown as { current: { client: Cluster } };
      const node = current.client.nodes('master').find(({ options }) => options.port === port)!;
      for (let turn = 0; turn < 3; turn += 1) await node.ping();
    }
  }

  it('a library that processes call on one master is kept on all, and deleted on all a day after their last call', async () => {
    for (const node of masters()) await load(node);
    const slot = await cluster.slotOf('other:{instances}');
    const home = await cluster.ownerOf(slot);
    for (let hour = 0; hour < 30; hour += 1) {
      const args = ['1', 'other:{instances}', String(time.now * 1000), '[]', '["b",15000000,3600000000]'];
      await askServer(home, 'FCALL', `${OTHER}_heartbeat`, ...args);
      await hourly();
    }
    expect(await holders()).toEqual(masters());
    for (let hour = 0; hour < 23; hour += 1) await hourly();
    expect(await holders()).toEqual(masters());
    await hourly();
    await until(async () => (await holders()).length === 0, 'the library to be deleted on every master');
  }, 120_000);

  it('a library on one master only is deleted there', async () => {
    const [, lone] = masters();
    await load(lone!);
    for (let hour = 0; hour < 24; hour += 1) await hourly();
    expect(await holders()).toEqual([lone]);
    await hourly();
    await until(async () => (await holders()).length === 0, 'the library to be deleted');
  }, 120_000);

  it('a replica that takes over keeps a library for a day, since it does not know when it was last called', async () => {
    for (const node of masters()) await load(node);
    for (let hour = 0; hour < 20; hour += 1) await hourly();
    const [lost, second, third] = masters();
    const replica = cluster.nodes[3]!;
    await until(() => has(replica), 'the library to be replicated');
    await askServer(replica, 'CLUSTER', 'FAILOVER');
    const now = [replica, second!, third!];
    const isKnown = async () => {
      const { current } = store as unknown as { current: { client: Cluster } };
      const beats = await beat().then(
        () => true,
        () => false,
      );
      const ports = current.client.nodes('master').map(({ options }) => options.port);
      return beats && String(ports.sort()) === String(now.map(({ port }) => port).sort());
    };
    await until(isKnown, 'the process to know the new master', 30_000);
    expect(lost).not.toBe(replica);
    for (let hour = 0; hour < 24; hour += 1) await hourly(now);
    expect(await holders(now)).toEqual(now);
    await hourly(now);
    await until(async () => (await holders(now)).length === 0, 'the library to be deleted');
  }, 120_000);
});
