import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster, Redis } from 'ioredis';
import { MemoryStore, type BreakerEvent, type Rule, type StoreErrorEvent } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { ClusterServers } from '../../lib/stores/redis/link/topology.js';
import { everyRule } from '../contract/every-rule.js';
import { askServer } from '../support/redis/ask-server.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { formCluster } from '../support/redis/cluster-formation.js';
import { hasFunctions, luaCalls } from '../support/redis/lua-calls.js';
import { recordCommands } from '../support/redis/record-commands.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';
import { hitsOn } from './places.js';

const many: Rule = { name: 'many', window: '1h', limit: 1000, algorithm: 'gcra' };
const SUBJECTS = Array.from({ length: 60 }, (_, nth) => `user-${nth}`);
const EVERY_RULE = everyRule({ limit: 5, windowMs: 10_000 });

interface Opened {
  keyPrefix?: string;
  clock?: () => number;
  nodes?: readonly RedisServer[];
}

/** See docs/adr/0114-one-call-a-server.md. */
const describeWithFunctions = hasFunctions ? describe : describe.skip;

describeWithFunctions('decisions for many subjects in one turn on a Redis Cluster', () => {
  let cluster: RedisCluster;
  const toClose: (() => unknown)[] = [];

  beforeAll(async () => {
    cluster = await startCluster();
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const close of toClose.splice(0).reverse()) await close();
  });

  afterAll(() => cluster.close());

  /** Opens a limiter whose calls the servers have answered before. */
  async function open({ keyPrefix = '', clock, nodes = cluster.nodes }: Opened = {}) {
    const client = new Cluster(
      nodes.map(({ host, port }) => ({ host, port })),
      { keyPrefix },
    );
    toClose.push(() => client.disconnect());
    const store = await RedisStore.open({ redis: client, timeout: 10_000, ...(clock && { clock }) });
    toClose.push(() => store.close());
    const prefix = uniquePrefix();
    const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
    toClose.push(() => limiter.close());
    const reported: (StoreErrorEvent | BreakerEvent)[] = [];
    limiter.events.on('storeError', (event) => reported.push(event));
    limiter.events.on('breaker', (event) => reported.push(event));
    await consumeAll(limiter, 'warm-up ');
    return { client, limiter, prefix, reported };
  }

  const consumeAll = (limiter: RateLimiter, before = '') =>
    Promise.all(SUBJECTS.map((subject) => limiter.consume(many, before + subject)));
  const remainingAfter = async (limiter: RateLimiter) =>
    new Set((await consumeAll(limiter)).map(({ source, remaining }) => `${source} ${remaining}`));

  /** Returns the key of a subject's counter. */
  async function keyOf(subject: string, prefix: string): Promise<string | undefined> {
    const slot = calculateSlot(subject);
    const owner = await cluster.ownerOf(slot);
    const keys = (await askServer(owner, 'CLUSTER', 'GETKEYSINSLOT', String(slot), '100')) as string[];
    return keys.find((key) => key.startsWith(`${prefix}{${subject}}`));
  }

  /** Returns the number of calls that each master gets during an action. */
  async function callsDuring(act: () => Promise<unknown>): Promise<number[]> {
    const counts: number[] = [];
    const record = async (nth: number): Promise<unknown> => {
      if (nth === 3) return act();
      const commands = await recordCommands(cluster.nodes[nth]!.url, () => record(nth + 1));
      counts[nth] = luaCalls(commands).length;
      return undefined;
    };
    await record(0);
    return counts;
  }

  it('are one call to each server', async () => {
    const { limiter, reported } = await open();
    expect(await callsDuring(() => remainingAfter(limiter))).toEqual([1, 1, 1]);
    expect(await remainingAfter(limiter)).toEqual(new Set(['redis 998']));
    expect(reported).toEqual([]);
  });

  it('have the key prefix of the client', async () => {
    const { limiter, prefix } = await open({ keyPrefix: 'app:' });
    expect(await callsDuring(() => remainingAfter(limiter))).toEqual([1, 1, 1]);
    expect(await keyOf('user-7', `app:${prefix}`)).toBeDefined();
  });

  it('are those of the embedded store, with every algorithm and with blocks', async () => {
    const time = new VirtualTime();
    const { limiter } = await open({ clock: time.clock });
    const embedded = new RateLimiter({ store: new MemoryStore({ clock: time.clock }), denyCache: false });
    const blocking = EVERY_RULE.map((rule): Rule => ({ ...rule, name: `${rule.name} blocks`, block: '3s' }));
    const rules = [...EVERY_RULE, ...blocking];
    for (let turn = 0; turn < 12; turn += 1) {
      time.advance(700);
      const decideAll = (by: RateLimiter) =>
        Promise.all(
          SUBJECTS.slice(0, 12).flatMap((subject, nth) =>
            rules.map((rule, which) => by.consume(rule, subject, { cost: 1 + ((nth + which + turn) % 3) })),
          ),
        );
      const [those, these] = await Promise.all([decideAll(embedded), decideAll(limiter)]);
      const plain = ({ allowed, remaining, retryAfterMs, resetAfterMs }: (typeof those)[number]) =>
        [allowed, remaining, retryAfterMs, resetAfterMs].join(' ');
      expect(these.map(plain)).toEqual(those.map(plain));
    }
    await embedded.close();
  });

  it('fail only for the subject whose key has a value of another type', async () => {
    const { client, limiter, prefix } = await open();
    await consumeAll(limiter);
    const key = (await keyOf('user-3', prefix))!;
    await client.del(key);
    await client.rpush(key, 'x');
    const sources = (await consumeAll(limiter)).map(({ source, remaining }) => `${source} ${remaining}`);
    expect(sources.filter((each) => each === 'redis 998')).toHaveLength(SUBJECTS.length - 1);
    expect(sources[3]).toContain('fallback');
    expect(await client.type(key)).toBe('list');
  });

  it('are made once each while the slot of one of them moves', async () => {
    const { limiter, reported } = await open();
    const slot = calculateSlot('user-5');
    const from = await cluster.ownerOf(slot);
    const to = cluster.nodes.slice(0, 3).find((node) => node !== from)!;
    const mover = await cluster.mover(from, to);
    toClose.push(() => mover.close());
    let left = 1000;
    const decide = async () =>
      expect(await remainingAfter(limiter)).toEqual(new Set([`redis ${(left -= 1)}`]));
    await mover.begin(slot);
    await decide(); // the key does not exist on either server
    await decide();
    await mover.moveKeys(slot);
    await decide();
    await mover.finish(slot);
    await decide();
    expect(reported).toEqual([]);
    await cluster.untilWhole();
  });

  it('precede a reset of the same turn, also if they are repeated', async () => {
    const { limiter, reported } = await open();
    const slot = calculateSlot('user-5');
    const from = await cluster.ownerOf(slot);
    const mover = await cluster.mover(
      from,
      cluster.nodes.slice(0, 3).find((node) => node !== from)!,
    );
    toClose.push(() => mover.close());
    await mover.begin(slot); // the key does not exist on either server
    const decisions = consumeAll(limiter);
    const others = SUBJECTS.filter((subject) => subject !== 'user-5');
    await Promise.all([decisions, ...others.map((subject) => limiter.reset(many, subject))]);
    const after = await consumeAll(limiter);
    expect(after.filter(({ remaining }) => remaining === 999)).toHaveLength(others.length);
    await mover.moveKeys(slot);
    await mover.finish(slot);
    await cluster.untilWhole();
    expect(reported).toEqual([]);
  });

  it('report each threshold once while the slot of the subject moves', async () => {
    const { limiter } = await open();
    const slot = calculateSlot('user-5');
    const rule: Rule = { name: 'mail', algorithm: 'fixed-window', limit: 2, window: '1h', alerts: [1] };
    await limiter.consume(rule, 'user-5');
    const from = await cluster.ownerOf(slot);
    const mover = await cluster.mover(
      from,
      cluster.nodes.slice(0, 3).find((node) => node !== from)!,
    );
    toClose.push(() => mover.close());
    const crossed: unknown[] = [];
    limiter.events.on('threshold', (event) => crossed.push(event));
    await mover.begin(slot);
    await limiter.consume(rule, 'user-5');
    expect(crossed).toHaveLength(1);
    await mover.moveKeys(slot);
    await mover.finish(slot);
    await cluster.untilWhole();
  });

  it('are a call for each slot if a server does not reject a key of another one, until it does', async () => {
    const ofSameServer = jest.spyOn(ClusterServers.prototype, 'keyOn');
    ofSameServer.mockImplementation((key) => key);
    const { limiter, reported } = await open();
    const calls = await callsDuring(() => remainingAfter(limiter));
    expect(calls.reduce((sum, each) => sum + each)).toBe(SUBJECTS.length);
    ofSameServer.mockRestore();
    let left = 999;
    while (left > 900) expect(await remainingAfter(limiter)).toEqual(new Set([`redis ${(left -= 1)}`]));
    expect(await callsDuring(() => remainingAfter(limiter))).toEqual([1, 1, 1]);
    expect(reported).toEqual([]);
  });

  it('are a call for up to 32 keys on a Cluster of one server', async () => {
    const server = await startRedisServer({
      config: ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'],
    });
    toClose.push(() => server.stop());
    await formCluster([server], []);
    const { limiter } = await open({ nodes: [server] });
    const commands = await recordCommands(server.url, () => remainingAfter(limiter));
    expect(luaCalls(commands)).toHaveLength(2);
    expect(await remainingAfter(limiter)).toEqual(new Set(['redis 998']));
  });

  it('are decided also over a client that knows nothing of the Cluster, if its server is the only one', async () => {
    const server = await startRedisServer({
      config: ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'],
    });
    toClose.push(() => server.stop());
    await formCluster([server], []);
    const client = new Redis(server.url);
    toClose.push(() => client.disconnect());
    const store = await RedisStore.open({ redis: client, timeout: 10_000 });
    toClose.push(() => store.close());
    const limiter = new RateLimiter({
      store,
      prefix: uniquePrefix(),
      onStoreError: 'deny',
      denyCache: false,
    });
    const bySeveral = () =>
      limiter.engine.decide(
        hitsOn(
          limiter,
          SUBJECTS.slice(0, 3).map((each) => [many, each]),
        ),
      );
    expect(await remainingAfter(limiter)).toEqual(new Set(['redis 999']));
    expect((await bySeveral()).decisions.map(({ remaining }) => remaining)).toEqual([998, 998, 998]);
    const commands = await recordCommands(server.url, () => remainingAfter(limiter));
    expect(luaCalls(commands)).toHaveLength(2);
  });

  it('follow a planned failover, in which the server becomes a replica and keeps its connections', async () => {
    const { limiter, reported } = await open();
    const [master, replica] = [cluster.nodes[0]!, cluster.nodes[3]!];
    const roleOf = async (server: typeof master) => String(await askServer(server, 'ROLE')).split(',')[0];
    await askServer(replica, 'CLUSTER', 'FAILOVER');
    await until(async () => (await roleOf(master)) === 'slave', 'the master to step down', 30_000);
    // ioredis has no connection to the new master yet, but no call ends with the error of a replica.
    const isDecided = async () =>
      [...(await remainingAfter(limiter))].every((each) => each.startsWith('redis'));
    await until(isDecided, 'Redis to decide for all subjects', 30_000);
    expect(reported.filter((event) => String(event.error).includes('READONLY'))).toEqual([]);
    await cluster.untilWhole();
  });
});
