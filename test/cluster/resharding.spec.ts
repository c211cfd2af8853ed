import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import type { BreakerEvent, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { Load } from './load.js';
import { hitsOn, sourcesOf, subjectsApart, type On } from './places.js';

const rule: Rule = { limit: 500, window: '1w', algorithm: 'fixed-window' };

describe('a cluster that changes under load', () => {
  let cluster: RedisCluster;
  let mine: Cluster;
  let stores: RedisStore[];
  let limiters: [RateLimiter, RateLimiter];
  let subjects: [string, string, string];
  let changes: BreakerEvent[];
  let load: Load | undefined;

  beforeAll(async () => {
    cluster = await startCluster();
    subjects = await subjectsApart(cluster);
    mine = new Cluster(cluster.startNodes);
    stores = [1, 2].map(() => new RedisStore({ redis: mine, timeout: 5000 }));
  });

  beforeEach(async () => {
    const prefix = uniquePrefix();
    limiters = stores.map((store) => new RateLimiter({ store, prefix })) as typeof limiters;
    changes = [];
    for (const limiter of limiters) {
      await until(
        async () => sourcesOf(await peek(limiter)).every((source) => source === 'redis'),
        'all to decide',
      );
      limiter.events.on('breaker', (change) => changes.push(change));
    }
  });

  afterEach(() => load?.stop());
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    mine.disconnect();
    await cluster.close();
  });

  const everyone = () => subjects.map((subject): On => [rule, subject]);
  const peek = (limiter: RateLimiter) => limiter.engine.decide(hitsOn(limiter, everyone()), { dryRun: true });

  /** Returns the slot of a subject, its master and another master. */
  async function moveOf(subject: string): Promise<[slot: number, from: RedisServer, to: RedisServer]> {
    const slot = calculateSlot(subject);
    const from = await cluster.ownerOf(slot);
    return [slot, from, cluster.nodes.slice(0, 3).find((master) => master !== from)!];
  }

  it('a request is charged once at every step of a slot move', async () => {
    const [limiter] = limiters;
    const [ann] = subjects;
    let left = rule.limit;
    const hit = async () => {
      const decision = await limiter.consume(rule, ann);
      expect(decision).toMatchObject({ source: 'redis', remaining: --left });
    };
    const [slot, from, to] = await moveOf(ann);
    const mover = await cluster.mover(from, to);
    await hit();
    await mover.begin(slot);
    await hit(); // Its key is on the source.
    const fresh = await limiter.consume({ ...rule, name: 'fresh' }, ann);
    expect(fresh).toMatchObject({ source: 'redis', remaining: 499 }); // ASK
    await mover.moveKeys(slot);
    await hit(); // ASK
    await mover.finish(slot);
    await hit(); // MOVED
    await hit();
    mover.close();
    expect(await limiter.consume({ ...rule, name: 'fresh' }, ann)).toMatchObject({ remaining: 498 });
    expect(changes).toEqual([]);
  });

  it('a node stays in use while one of its slots moves', async () => {
    const [limiter] = limiters;
    const [, bob] = subjects;
    const blocking: Rule = { ...rule, name: 'blocking', block: '1s' };
    const [slot, from, to] = await moveOf(bob);
    const mover = await cluster.mover(from, to);
    await limiter.consume(blocking, bob);
    await mover.begin(slot);
    // The rule's two keys are not on the same master, so neither master can decide.
    const asked = Array.from({ length: 5 }, () => limiter.consume(blocking, bob));
    for (const decision of await Promise.all(asked)) {
      expect(decision).toMatchObject({ allowed: true, source: 'fallback' });
    }
    await mover.moveKeys(slot);
    await mover.finish(slot);
    mover.close();
    await until(() => limiter.events.openCircuits.size === 0, 'all circuits to close', 20_000);
    expect(await limiter.consume(blocking, bob)).toMatchObject({ source: 'redis', remaining: 498 });
    expect(changes).toEqual([]);
  });

  it('exactly the limit is allowed while the slots of all subjects move back and forth', async () => {
    const asks = limiters.flatMap((limiter) => {
      const ask = async () => limiter.engine.decide(hitsOn(limiter, everyone()));
      return [ask, ask];
    });
    const running = (load = new Load(asks));
    for (let round = 1; round <= 2; round++) {
      for (const subject of subjects) {
        const [slot, from, to] = await moveOf(subject);
        await cluster.moveSlots([slot], from, to);
        const answers = running.answersOf('redis');
        await until(() => running.answersOf('redis') >= answers + 8, 'the load to go on');
      }
    }
    await until(() => (running.denied.get('redis') ?? 0) > 0, 'the limit to be reached', 30_000);
    await running.stop();
    // Two requests that need the last permits of all three rules at the same time may deny each other. The permits
    // are then still available.
    const atOnce = running.admittedBy('redis');
    let admitted = atOnce;
    while ((await limiters[0].engine.decide(hitsOn(limiters[0], everyone()))).allowed) admitted += 1;
    expect([...running.admitted.keys(), admitted]).toEqual(['redis', 500]);
    expect(atOnce).toBeGreaterThan(500 - asks.length);
    expect((await peek(limiters[0])).decisions.map(({ remaining }) => remaining)).toEqual([0, 0, 0]);
    expect(changes).toEqual([]);
  });

  it('the fallback decides the rules of a failed master until its replica decides', async () => {
    const [, bob] = subjects;
    const long = { ...rule, limit: 100_000 };
    const [limiter] = limiters;
    const ask = () => limiter.consume(long, bob);
    const running = (load = new Load([ask, ask, ask, ask]));
    await until(() => running.admittedBy('redis') > 200, 'Redis to decide');

    const master = await cluster.ownerOf(calculateSlot(bob));
    await master.kill();
    const killedAt = performance.now();
    await until(() => running.answersOf('fallback') > 20, 'the fallback to decide');
    const before = running.admittedBy('redis');
    await cluster.untilReplaced(master);
    const replacedAt = performance.now();
    await until(() => running.admittedBy('redis') > before, 'the new master to decide', 30_000);
    const healedAt = performance.now();
    await running.stop();

    const charged = long.limit - (await limiter.peek(long, bob, { cost: 0 })).remaining;
    const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(1)} s`;
    process.stderr.write(
      `cluster failover: a new master after ${seconds(killedAt, replacedAt)}, ` +
        `decisions by Redis again ${seconds(replacedAt, healedAt)} after that; ` +
        `${running.answersOf('fallback')} by the fallback meanwhile; ` +
        `${running.admittedBy('redis') - charged} of ${running.admittedBy('redis')} charges lost\n`,
    );
    expect(running.denied).toEqual(new Map());
    expect(changes[0]).toMatchObject({ state: 'open', server: `${master.host}:${master.port}` });
    await until(() => limiter.events.openCircuits.size === 0, 'all circuits to close', 20_000);
  });
});
