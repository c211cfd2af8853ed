import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import type { BreakerEvent, Decision, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { askServer } from '../support/redis/ask-server.js';
import { untilViews, type ClusterView } from '../support/redis/cluster-view.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const CONFIG = ['cluster-require-full-coverage no'];
const rule: Rule = { limit: 1000, window: '1w', algorithm: 'fixed-window' };

type Change = (node: RedisServer) => Promise<unknown>;
const send =
  (name: string, ...rest: string[]): Change =>
  (node) =>
    askServer(node, name, ...rest);

const fill = send('CONFIG', 'SET', 'maxmemory', '1');
const empty = send('CONFIG', 'SET', 'maxmemory', '0');

/** Passes the error of a node that has lost its last slot, and has become a replica before the last command of the move. */
function isReplica(error: Error): void {
  if (!error.message.includes('SETSLOT only with masters')) throw error;
}

describe('a cluster whose nodes redirect calls', () => {
  let cluster: RedisCluster;
  let first: RedisServer;
  let second: RedisServer;
  let mine: Cluster;
  let store: RedisStore;
  let limiter: RateLimiter;
  let changes: BreakerEvent[];
  /** Subjects whose slots are on the first node. */
  let moving: string;
  let staying: string;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false, config: CONFIG });
    [first, second] = cluster.nodes as [RedisServer, RedisServer];
    mine = new Cluster(cluster.startNodes);
    const isOfFirst = await cluster.slotsOf(first);
    const subjects = Array.from({ length: 100 }, (_, nth) => `s${nth}`);
    [moving, staying] = subjects.filter((each) => isOfFirst(calculateSlot(each))) as [string, string];
  });

  beforeEach(async () => {
    store = await RedisStore.open({ redis: mine, timeout: 5000 });
    limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    changes = [];
    limiter.events.on('breaker', (change) => changes.push(change));
    expect([await source(moving), await source(staying)]).toEqual(['redis', 'redis']);
  });

  afterEach(async () => {
    await store.close();
    await Promise.all(cluster.nodes.map(empty));
    const owner = await cluster.ownerOf(calculateSlot(moving));
    if (owner !== first) await move(owner, first).catch(isReplica);
    await cluster.untilWhole();
  });

  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  /** Adds a node without slots. If it gets one and loses it, Redis makes it a replica. */
  async function join(): Promise<RedisServer> {
    const node = await startRedisServer({ config: ['cluster-enabled yes', ...CONFIG] });
    const nodes = cluster.nodes as RedisServer[];
    nodes.push(node);
    await askServer(node, 'CLUSTER', 'SET-CONFIG-EPOCH', String(10 + nodes.length));
    await askServer(first, 'CLUSTER', 'MEET', node.host, String(node.port));
    const isComplete = (views: readonly ClusterView[]) =>
      views.every(
        (view) =>
          view.isOk && view.nodes.length === nodes.length && !view.nodes.some(({ isMissing }) => isMissing),
      );
    await untilViews(nodes, isComplete, 'the node to join');
    return node;
  }

  const source = async (subject: string) => (await limiter.consume(rule, subject)).source;
  const move = (from: RedisServer, to: RedisServer) => cluster.moveSlots([calculateSlot(moving)], from, to);
  const addressOf = ({ host, port }: RedisServer) => `${host}:${port}`;
  const isClosed = (node: RedisServer) => !limiter.events.openCircuits.has(addressOf(node));

  it.each<[string, Change, Change]>([
    ['has no memory left', fill, empty],
    [
      'rejects the user',
      send('ACL', 'SETUSER', 'default', '-fcall', '-eval', '-evalsha'),
      send('ACL', 'SETUSER', 'default', '+@all'),
    ],
    ['is down', (node) => node.kill(), (node) => node.restart()],
  ])('a node decides its other slots although one has moved to a node that %s', async (_, fail, recover) => {
    await move(first, second);
    await fail(second);
    try {
      expect(await source(moving)).toBe('fallback');
      expect(await source(staying)).toBe('redis');
      expect(await source(moving)).toBe('fallback');
      expect(await source(staying)).toBe('redis');
    } finally {
      await recover(second);
    }
    await until(async () => (await source(moving)) === 'redis', 'the other node to decide', 20_000);
    expect(new Set(changes.map(({ server }) => server))).toEqual(new Set([addressOf(second)]));
  });

  it('a node whose slot has moved after a failure is probed with a key that it still has', async () => {
    await askServer(first, 'FLUSHALL'); // A full node takes no keys.
    await fill(first);
    await fill(second);
    expect(await source(moving)).toBe('fallback');
    await move(first, second);
    await empty(first);
    await until(() => isClosed(first), 'the breaker of the first node to close', 20_000);
    expect([await source(staying), await source(moving)]).toEqual(['redis', 'fallback']);
  });

  it('the breaker of a node that has lost all its slots closes', async () => {
    const joined = await join();
    await move(first, joined);
    await fill(joined);
    await source(moving);
    expect(await source(moving)).toBe('fallback');
    expect([...limiter.events.openCircuits.keys()]).toEqual([addressOf(joined)]);
    await move(joined, second).catch(isReplica);
    await fill(second);
    await until(() => isClosed(joined), 'the breaker of the node without slots to close', 20_000);
  });

  it('a slot that moves to a node without a connection is decided by Redis exactly, and opens no breaker', async () => {
    const joined = await join();
    await move(first, joined);
    const asked: (Decision | Promise<Decision>)[] = [];
    for (let nth = 0; nth < 20; nth += 1) {
      asked.push(limiter.consume(rule, moving));
      await nextTurn(); // Each is a separate call.
    }
    const decisions = await Promise.all(asked);
    expect(new Set(decisions.map((decision) => decision.source))).toEqual(new Set(['redis']));
    expect(Math.min(...decisions.map(({ remaining }) => remaining))).toBe(979);
    expect(changes).toEqual([]);
  });
});
