import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { subjectsApart } from '../cluster/places.js';
import { askServer } from '../support/redis/ask-server.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { until } from '../support/redis/until.mjs';
import { untilPrefetching } from '../support/until-prefetching.js';
import { VirtualTime } from '../support/virtual-store.js';

const rule = { algorithm: 'gcra', limit: 2, window: '1h', block: 'manual' } as const;

// The clock of these stores stands still: a cached denial is valid until a change is reported.
describe('a deny cache on a cluster', () => {
  const time = new VirtualTime();
  let cluster: RedisCluster;
  let mine: Cluster;
  let stores: RedisStore[];
  let here: RateLimiter;
  let there: RateLimiter;
  let subjects: string[];

  beforeAll(async () => {
    cluster = await startCluster();
    subjects = await subjectsApart(cluster);
    mine = new Cluster(cluster.startNodes, { keyPrefix: 'app:' });
  });

  beforeEach(async () => {
    const options = { redis: mine, clock: time.clock };
    stores = await Promise.all([openRedisStore(options), openRedisStore(options)]);
    const prefix = uniquePrefix();
    [here, there] = stores.map((store) => new RateLimiter({ store, prefix })) as [RateLimiter, RateLimiter];
  });

  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await cluster.untilWhole();
  });

  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  const ask = (subject: string) => here.consume(rule, subject);
  const untilCached = (subject: string) =>
    until(async () => (await ask(subject)).source === 'cache', 'a denial from the cache', 30_000);
  const untilAllowed = (subject: string) =>
    until(async () => (await ask(subject)).allowed, 'the change to arrive', 30_000);

  /** Another process takes all permits, with a decision that it can refund. */
  const takeAll = (subject: string) => there.consume(rule, subject, { cost: 2 });

  async function ownerAndOther(subject: string): Promise<[RedisServer, RedisServer]> {
    const owner = await cluster.ownerOf(calculateSlot(subject));
    return [owner, cluster.nodes.slice(0, 3).find((node) => node !== owner)!];
  }

  it.each([0, 1, 2])(
    'a deny cache returns denials of node %d until another process refunds permits',
    async (node) => {
      const subject = subjects[node]!;
      const decision = await takeAll(subject);
      await untilCached(subject);
      await there.refund(decision);
      await untilAllowed(subject);
    },
  );

  it.each([0, 1, 2])(
    'a deny cache on a cluster starts with a fresh counter after a reset on node %d',
    async (node) => {
      const subject = subjects[node]!;
      await takeAll(subject);
      await untilCached(subject);
      await there.reset(rule, subject);
      await untilAllowed(subject);
    },
  );

  it('a deny cache on a cluster reports the end of a block by another process', async () => {
    const [subject] = subjects as [string];
    await takeAll(subject);
    await untilCached(subject);
    await there.block(rule, subject, '1d');
    await until(async () => (await ask(subject)).retryAfterMs === 86_400_000, 'the block to arrive', 30_000);
  });

  it('a deny cache receives a refund on the master that a slot has moved to', async () => {
    const [subject] = subjects as [string];
    const decision = await takeAll(subject);
    await untilCached(subject);
    const [from, to] = await ownerAndOther(subject);
    await cluster.moveSlots([calculateSlot(subject)], from, to);
    await cluster.untilWhole();
    expect((await ask(subject)).source).toBe('cache'); // Nothing has changed for the client.
    await there.refund(decision);
    await untilAllowed(subject);
    await cluster.moveSlots([calculateSlot(subject)], to, from);
  });

  it('a deny cache receives a refund of a counter that denied while its slot was moving', async () => {
    const [subject, other] = subjects as [string, string];
    const single: Rule = { name: 'single', algorithm: 'gcra', limit: 2, window: '1h' }; // It has one key.
    const slot = calculateSlot(subject);
    const decision = await there.consume(single, subject, { cost: 2 });
    await takeAll(other);
    await untilCached(other);
    const [from, to] = await ownerAndOther(subject);
    const mover = await cluster.mover(from, to);
    await mover.begin(slot);
    expect(await here.consume(single, subject)).toMatchObject({ allowed: false, source: 'redis' });
    await mover.moveKeys(slot);
    await mover.finish(slot);
    mover.close();
    await cluster.untilWhole();
    await there.refund(decision);
    await until(async () => (await here.consume(single, subject)).allowed, 'the change to arrive', 30_000);
    await cluster.moveSlots([slot], to, from);
  });

  it('a process on a cluster drops prefetched permits when another process resets their counter', async () => {
    const ahead: Rule = { limit: 12, window: '1h', algorithm: 'gcra', prefetch: { permits: 5, ttl: '1h' } };
    await untilPrefetching(here);
    for (const subject of subjects) {
      await here.consume(ahead, subject);
      expect((await here.consume(ahead, subject)).source).toBe('cache'); // The permits are prefetched.
      await there.reset(ahead, subject);
      await until(async () => {
        const { source, remaining } = await here.consume(ahead, subject);
        // The number of permits after 5 are taken from a new counter. Earlier charges would leave fewer.
        return source === 'redis' && remaining === 11;
      }, 'the reset to arrive');
    }
  });

  it('a deny cache on a cluster keeps nothing while its subscription is disconnected', async () => {
    const [subject] = subjects as [string];
    const decision = await takeAll(subject);
    await untilCached(subject);
    const [owner] = await ownerAndOther(subject);
    await askServer(owner, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
    await there.refund(decision); // The message may have reached no process.
    await untilAllowed(subject);
    await takeAll(subject);
    await ask(subject);
    await untilCached(subject);
  });

  it('a deny cache on a cluster subscribes to the replica of a killed master', async () => {
    const [, , subject] = subjects as [string, string, string];
    await takeAll(subject);
    await untilCached(subject);
    const [owner] = await ownerAndOther(subject);
    await owner.kill();
    await cluster.untilReplaced(owner);
    await until(
      async () => (await there.peek(rule, subject)).source === 'redis',
      'the replica to decide',
      30_000,
    );
    await there.reset(rule, subject);
    await untilAllowed(subject);
    await ask(subject);
    await untilCached(subject);
    await there.reset(rule, subject);
    await untilAllowed(subject);
    await owner.restart();
  });
});
