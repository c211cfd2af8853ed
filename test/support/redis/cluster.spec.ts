import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { askServer } from './ask-server.js';
import { startCluster, type RedisCluster } from './cluster.js';
import type { RedisServer } from './redis-server.mjs';

const answerOf = (node: RedisServer, ...command: [string, ...string[]]) =>
  askServer(node, ...command).catch((error: unknown) => (error as Error).message);

describe("a spec's own cluster", () => {
  let cluster: RedisCluster;
  let redis: Cluster;
  let slot: number;

  beforeAll(async () => {
    cluster = await startCluster();
    redis = new Cluster(cluster.startNodes);
    slot = await cluster.slotOf('{tag}');
  });

  afterAll(async () => {
    redis.disconnect();
    await cluster.close();
  });

  /** The master of the slot, and another one. */
  async function ownerAndOther(): Promise<[RedisServer, RedisServer]> {
    const owner = await cluster.ownerOf(slot);
    return [owner, cluster.nodes.slice(0, 3).find((node) => node !== owner)!];
  }

  it('a cluster of a spec keeps a key on the master of its slot and on its replica', async () => {
    await redis.set('{tag}', 'value');
    const [owner] = await ownerAndOther();
    await askServer(owner, 'WAIT', '1', '5000');
    const counts = cluster.nodes.map((node) => askServer(node, 'CLUSTER', 'COUNTKEYSINSLOT', String(slot)));
    const master = cluster.nodes.indexOf(owner);
    expect(await Promise.all(counts)).toEqual(
      [0, 1, 2, 3, 4, 5].map((node) => (node % 3 === master ? 1 : 0)),
    );
  });

  it('a cluster of a spec moves slots while clients continue', async () => {
    const [from, to] = await ownerAndOther();
    let written = await redis.incr('{tag}count');
    let moved = false;
    const moving = cluster.moveSlots([slot, slot + 1], from, to).finally(() => (moved = true));
    while (!moved) written = await redis.incr('{tag}count');
    await moving;
    expect(await answerOf(to, 'GET', '{tag}count')).toBe(String(written));
    await cluster.untilWhole();
    expect(await cluster.ownerOf(slot + 1)).toBe(to);
  });

  it('a cluster of a spec moves a slot step by step', async () => {
    const [from, to] = await ownerAndOther();
    const keys = ['{tag}1', '{tag}2'];
    for (const key of keys) await redis.set(key, 'value');
    const mover = await cluster.mover(from, to);
    await mover.begin(slot);
    await mover.moveKeys(slot, ['{tag}1']);
    expect(await answerOf(from, 'GET', '{tag}1')).toBe(`ASK ${slot} 127.0.0.1:${to.port}`);
    expect(await answerOf(from, 'GET', '{tag}2')).toBe('value');
    expect(await answerOf(from, 'MGET', ...keys)).toMatch(/^TRYAGAIN/);
    await mover.moveKeys(slot);
    await mover.finish(slot);
    mover.close();
    expect(await answerOf(from, 'GET', '{tag}1')).toBe(`MOVED ${slot} 127.0.0.1:${to.port}`);
    expect(await redis.mget(keys)).toEqual(['value', 'value']);
  });

  it('a cluster of a spec replaces a killed master by its replica', async () => {
    const [owner] = await ownerAndOther();
    await redis.set('{tag}', 'kept');
    await askServer(owner, 'WAIT', '1', '5000');
    await owner.kill();
    await cluster.untilReplaced(owner);
    const heir = await cluster.ownerOf(slot);
    expect(cluster.nodes.indexOf(heir)).toBe(cluster.nodes.indexOf(owner) + 3);
    expect(await redis.get('{tag}')).toBe('kept');
    await owner.restart();
    await cluster.untilWhole();
    expect(await answerOf(owner, 'GET', '{tag}')).toBe(`MOVED ${slot} 127.0.0.1:${heir.port}`);
  });
});

describe("a spec's own cluster without replicas", () => {
  it('a cluster of a spec without replicas has three masters', async () => {
    const cluster = await startCluster({ replicas: false });
    const redis = new Cluster(cluster.startNodes);
    expect(cluster.nodes).toHaveLength(3);
    expect(await redis.set('key', 'value')).toBe('OK');
    redis.disconnect();
    await cluster.close();
  });
});
