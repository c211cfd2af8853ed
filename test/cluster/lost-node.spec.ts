import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import type { BreakerEvent, Decision, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { askServer } from '../support/redis/ask-server.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { hitsOn, sourcesOf, subjectsApart, type On } from './places.js';

const rule: Rule = { limit: 1000, window: '1w', algorithm: 'fixed-window' };

describe('a node of a cluster that is lost', () => {
  let cluster: RedisCluster;
  let mine: Cluster;
  let store: RedisStore;
  let limiter: RateLimiter;
  let places: On[];
  let node: RedisServer;
  let changes: BreakerEvent[];

  beforeAll(async () => {
    // The other nodes continue without the lost slots.
    cluster = await startCluster({ replicas: false, config: ['cluster-require-full-coverage no'] });
    places = (await subjectsApart(cluster)).map((subject): On => [rule, subject]);
    node = cluster.nodes[1]!;
    mine = new Cluster(cluster.startNodes);
  });

  afterEach(() => store.close());
  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  async function open(timeout: number, redis: string | Cluster = mine) {
    store = await RedisStore.open({ redis, timeout });
    limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    changes = [];
    limiter.events.on('breaker', (change) => changes.push(change));
    await until(
      async () => sourcesOf(await ask()).every((source) => source === 'redis'),
      'all nodes to decide',
    );
    changes.length = 0;
    await Promise.all(places.map(([, subject]) => limiter.reset(rule, subject)));
  }

  const address = () => `${node.host}:${node.port}`;
  const ask = () => limiter.engine.decide(hitsOn(limiter, places));
  const peek = (place: On) => limiter.engine.decide(hitsOn(limiter, [place]), { dryRun: true });
  const remainingOf = ({ decisions }: Decision) => decisions.map(({ remaining }) => remaining);
  const statesOf = () => changes.map(({ server, state }) => `${state} ${server}`);

  const untilClosed = () =>
    until(() => !limiter.events.openCircuits.has(address()), 'the circuit to close', 20_000);

  it('a lost node opens only its own circuit, leaves the other nodes to Redis, and recovers automatically', async () => {
    await open(10_000);
    await ask();
    await node.kill();
    for (let nth = 2; nth <= 20; nth++) {
      const decision = await ask();
      expect(decision).toMatchObject({ allowed: true, source: 'redis', remaining: 1000 - nth });
      expect(sourcesOf(decision)).toEqual(['redis', 'fallback', 'redis']);
    }
    expect(statesOf()).toEqual([`open ${address()}`]);
    expect([...limiter.events.openCircuits.keys()]).toEqual([address()]);

    await node.restart();
    await until(() => statesOf().length > 1, 'the circuit to close', 20_000);
    expect(statesOf()).toEqual([`open ${address()}`, `closed ${address()}`]);
    const decision = await ask();
    expect(sourcesOf(decision)).toEqual(['redis', 'redis', 'redis']);
    expect(remainingOf(decision)).toEqual([979, 999, 979]);
  });

  it('a lost node of a Cluster that a URL leads to is reported without a hint that the URL is wrong', async () => {
    await open(10_000, cluster.nodes[0]!.url);
    await node.kill();
    await ask();
    expect(statesOf()).toEqual([`open ${address()}`]);
    expect(String(changes[0]!.error)).toMatch(/: no connection to Redis at 127\.0\.0\.1:\d+( \(\w+\))?$/);
    await node.restart();
    await untilClosed();
  });

  it('a rule on a lost node denies as its onStoreError states, and the other rules are refunded', async () => {
    await open(10_000);
    const strict = places.map(([each, subject], at): On =>
      at === 1 ? [{ ...each, name: 'strict', onStoreError: 'deny' }, subject] : [each, subject],
    );
    await node.kill();
    for (let nth = 1; nth <= 5; nth++) {
      const denied = await limiter.engine.decide(hitsOn(limiter, strict));
      expect(denied).toMatchObject({ allowed: false, source: 'fallback', rule: 'strict' });
    }
    for (const at of [0, 2]) expect(remainingOf(await peek(places[at]!))).toEqual([1000]);
    await node.restart();
    await untilClosed();
  });

  it('a slot that no node serves leaves the other slots of its node to Redis', async () => {
    await open(10_000);
    const [, subject] = places[1]!;
    const slot = calculateSlot(subject);
    const isOfNode = await cluster.slotsOf(node);
    const others = Array.from({ length: 100 }, (_, nth) => `t${nth}`);
    const other = others.find((each) => calculateSlot(each) !== slot && isOfNode(calculateSlot(each)))!;
    const sourceOf = async (each: string) => (await limiter.consume(rule, each)).source;
    for (const each of cluster.nodes) await askServer(each, 'CLUSTER', 'DELSLOTS', String(slot));
    for (let nth = 1; nth <= 5; nth++) {
      expect(await sourceOf(subject)).toBe('fallback');
      expect(await sourceOf(other)).toBe('redis');
    }
    expect(statesOf()).toEqual([]);
    await askServer(node, 'CLUSTER', 'ADDSLOTS', String(slot));
    await until(async () => (await sourceOf(subject)) === 'redis', 'the slot to be served', 20_000);
    await cluster.untilWhole();
  });

  it('a hanging node does not delay the others, which have lost their Lua', async () => {
    await open(500);
    await node.pause();
    for (let times = 0; times < 2; times += 1) {
      for (const at of [0, 2]) {
        if (hasFunctions) await askServer(cluster.nodes[at]!, 'FUNCTION', 'FLUSH');
        else await askServer(cluster.nodes[at]!, 'SCRIPT', 'FLUSH');
      }
      const decisions = await Promise.all([0, 2].map((at) => peek(places[at]!)));
      expect(decisions.map(({ source }) => source)).toEqual(['redis', 'redis']);
    }
    await node.resume();
    await untilClosed();
  });

  it('a call that a hanging node did not answer is not sent a second time', async () => {
    await open(100);
    await node.pause();
    const asked: (Decision | Promise<Decision>)[] = [];
    for (let nth = 1; nth <= 20; nth++) {
      asked.push(limiter.engine.decide(hitsOn(limiter, [places[1]!])));
      await nextTurn(); // Each is a separate call.
    }
    const hung = await Promise.all(asked);
    expect(new Set(hung.map(({ source }) => source))).toEqual(new Set(['fallback']));
    await sleep(700); // Longer than the socket timeout, so the connection is closed and opened again.
    await node.resume();
    await untilClosed();
    let decision = await peek(places[1]!);
    await until(async () => {
      decision = await peek(places[1]!);
      return decision.source === 'redis';
    }, 'the node to decide again');
    expect(decision.remaining).toBeGreaterThanOrEqual(980);
  });
});
