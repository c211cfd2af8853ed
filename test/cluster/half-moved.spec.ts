import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { ConcurrencyRule, Rule, StoreErrorEvent } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { HalfMove } from './half-move.js';
import { hitsOn, type On } from './places.js';

const hour = { limit: 500, window: '1h', algorithm: 'fixed-window' } as const;
const both: [Rule, Rule] = [
  { ...hour, name: 'a' },
  { ...hour, name: 'b' },
];
const held: [ConcurrencyRule, ConcurrencyRule] = [
  { name: 'c', algorithm: 'concurrency', limit: 2, lease: '10m' },
  { name: 'd', algorithm: 'concurrency', limit: 2, lease: '10m' },
];

describe('a slot of which one of two keys has moved', () => {
  const subject = 'ann';
  let cluster: RedisCluster;
  let mine: Cluster;
  let prefix: string;
  let move: HalfMove;
  const stores: RedisStore[] = [];

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    mine = new Cluster(cluster.startNodes);
  });

  beforeEach(async () => {
    prefix = uniquePrefix();
    move = await HalfMove.of(cluster, subject);
  });

  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await move.close();
  });

  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  /** Opens a limiter that has a connection to all nodes. */
  async function open(timeout: number): Promise<RateLimiter> {
    const store = new RedisStore({ redis: mine, timeout, connectTimeout: 30_000 });
    stores.push(store);
    const limiter = new RateLimiter({ store, prefix });
    await until(
      async () => (await limiter.peek(both, subject)).source === 'redis',
      'Redis to decide',
      30_000,
    );
    return limiter;
  }

  const moveHalf = () => move.begin(`${prefix}{${subject}}:a:fixed-window2/3600000`);

  const remainingOf = async (limiter: RateLimiter) =>
    (await limiter.peek(both, subject, { cost: 0 })).decisions.map(({ remaining }) => remaining);

  it('a request for both keys of a moving slot waits until the move ends and is charged once', async () => {
    const limiter = await open(30_000);
    await limiter.consume(both, subject);
    await moveHalf();
    const errors: StoreErrorEvent[] = [];
    limiter.events.on('storeError', (event) => errors.push(event));
    let decided = 0;
    const asked = Array.from({ length: 20 }, async () => {
      const decision = await limiter.consume(both, subject);
      decided += 1;
      return decision;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(decided).toBe(0);
    await move.end();
    const decisions = await Promise.all(asked);
    expect(errors).toEqual([]);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['redis']));
    expect(await remainingOf(limiter)).toEqual([479, 479]);
  });

  it('requests for one key of a moving slot are decided without the requests for both keys', async () => {
    const limiter = await open(30_000);
    await limiter.consume(both, subject);
    await moveHalf();
    let isDecided = false;
    const waiting = limiter.consume(both, subject).finally(() => (isDecided = true));
    const others = [both[0], both[1], both[0], both[1], both[0]].map((rule) =>
      limiter.consume(rule, subject),
    );
    const decisions = await Promise.all(others);
    expect(decisions.map(({ source, remaining }) => `${source} ${remaining}`)).toEqual([
      'redis 498',
      'redis 498',
      'redis 497',
      'redis 497',
      'redis 496',
    ]);
    expect(isDecided).toBe(false);
    await move.end();
    expect(await waiting).toMatchObject({ allowed: true, source: 'redis' });
    expect(await remainingOf(limiter)).toEqual([495, 496]);
  });

  it('onStoreError decides and reports a request for both keys of a moving slot after the deadline, without a charge', async () => {
    const limiter = await open(500);
    const patient = await open(30_000);
    await patient.consume(both, subject);
    await moveHalf();
    const errors: StoreErrorEvent[] = [];
    limiter.events.on('storeError', (event) => errors.push(event));
    const decisions = await Promise.all(
      Array.from({ length: 100 }, () => limiter.consume({ ...both[0], onStoreError: 'deny' }, subject)),
    );
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['redis'])); // One key: ASK.
    const refused = await Promise.all(
      Array.from({ length: 100 }, () =>
        limiter.consume(
          both.map((rule): Rule => ({ ...rule, onStoreError: 'deny' })),
          subject,
        ),
      ),
    );
    expect(refused.filter(({ allowed }) => allowed)).toEqual([]);
    expect(errors.length).toBeGreaterThan(0);
    for (const { error } of errors) expect(String(error)).toContain('TRYAGAIN');
    expect(limiter.events.openCircuits.size).toBe(0);
    await move.end();
    expect(await remainingOf(patient)).toEqual([399, 499]);
  });

  it('a refund for keys of a moving slot is not lost', async () => {
    const limiter = await open(100);
    const patient = await open(30_000);
    const decision = await patient.consume(both, subject);
    const mine = await limiter.consume(both, subject, { cost: 7 });
    await moveHalf();
    await limiter.refund(mine);
    await move.end();
    await until(async () => (await remainingOf(patient)).join() === '499,499', 'both to be given back');
    expect(await patient.refund(decision)).toBe(true);
    expect(await limiter.refund(mine)).toBe(false);
    expect(await remainingOf(patient)).toEqual([500, 500]);
  });

  interface Operation {
    readonly name: string;
    readonly of: Rule & { block: 'manual' };
    /** Prepares the counter, and returns the operation. */
    readonly prepare: (limiter: RateLimiter) => Promise<() => Promise<unknown>>;
    readonly returns: unknown;
    /** The remaining permits after it; the subject is blocked with -1. */
    readonly remaining: number;
  }

  const blocked = { ...hour, name: 'm', block: 'manual' } as const;
  const logged = { ...blocked, algorithm: 'sliding-window-log' } as const;
  const OPERATIONS: readonly Operation[] = [
    {
      name: 'consume of a rule with a block',
      of: blocked,
      prepare: async (limiter) => async () => (await limiter.consume(blocked, subject)).source,
      returns: 'redis',
      remaining: 496,
    },
    {
      name: 'peek of a rule with a block',
      of: blocked,
      prepare: async (limiter) => async () => (await limiter.peek(blocked, subject, { cost: 0 })).remaining,
      returns: 497,
      remaining: 497,
    },
    {
      name: 'refund',
      of: blocked,
      prepare: async (limiter) => {
        const decision = await limiter.consume(blocked, subject, { cost: 4 });
        return () => limiter.refund(decision);
      },
      returns: true,
      remaining: 497,
    },
    {
      name: 'refund of a log',
      of: logged,
      prepare: async (limiter) => {
        const decision = await limiter.consume(logged, subject, { cost: 4 });
        return () => limiter.refund(decision);
      },
      returns: true,
      remaining: 497,
    },
    {
      name: 'settle with a higher cost',
      of: blocked,
      prepare: async (limiter) => {
        const reservation = await limiter.reserve(blocked, subject, { cost: 2 });
        return () => reservation.settle(9);
      },
      returns: true,
      remaining: 488,
    },
    {
      name: 'settle with a lower cost',
      of: blocked,
      prepare: async (limiter) => {
        const reservation = await limiter.reserve(blocked, subject, { cost: 9 });
        return () => reservation.settle(2);
      },
      returns: true,
      remaining: 495,
    },
    {
      name: 'block',
      of: blocked,
      prepare: async (limiter) => () => limiter.block(blocked, subject, '1h'),
      returns: undefined,
      remaining: -1,
    },
    {
      name: 'reset',
      of: blocked,
      prepare: async (limiter) => () => limiter.reset(blocked, subject),
      returns: true,
      remaining: 500,
    },
    {
      name: 'reset of a blocked subject',
      of: blocked,
      prepare: async (limiter) => {
        await limiter.block(blocked, subject, '1h');
        return () => limiter.reset(blocked, subject);
      },
      returns: true,
      remaining: 500,
    },
    {
      name: 'heartbeat',
      of: blocked,
      prepare: async () => () =>
        stores[0]!.heartbeat({ key: `${prefix}{${subject}}:alive`, instance: 'x', duration: 60e6 }),
      returns: 1,
      remaining: 497,
    },
  ];

  it.each(OPERATIONS)(
    'an operation on a counter whose slot moves waits until the move ends and is made once: $name',
    async ({ of, prepare, returns, remaining }) => {
      const limiter = await open(30_000);
      await limiter.consume(of, subject, { cost: 3 });
      const operate = await prepare(limiter);
      await move.begin(`${prefix}{${subject}}:m:${of.algorithm}`);
      const errors: StoreErrorEvent[] = [];
      limiter.events.on('storeError', (event) => errors.push(event));
      const returned = operate();
      returned.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await move.end();
      expect(await returned).toEqual(returns);
      expect(errors).toEqual([]);
      const { allowed, source, remaining: left } = await limiter.peek(of, subject, { cost: 0 });
      expect([source, allowed ? left : -1]).toEqual(['redis', remaining]);
    },
  );

  it('an operation on a counter whose slot moves for longer than the deadline rejects, and has changed nothing in Redis', async () => {
    const limiter = await open(2000); // the last attempt has a quarter of it for a reply, also on a slow server
    const patient = await open(30_000);
    await patient.consume(blocked, subject, { cost: 3 });
    await move.begin(`${prefix}{${subject}}:m:fixed-window2/3600000`);
    for (const operate of [
      () => limiter.reset(blocked, subject),
      () => limiter.block(blocked, subject, '1h'),
    ])
      await expect(operate()).rejects.toThrow(/did not confirm|TRYAGAIN|moving/);
    expect(limiter.events.openCircuits.size).toBe(0);
    await move.end();
    expect(await patient.peek(blocked, subject, { cost: 0 })).toMatchObject({
      allowed: true,
      remaining: 497,
    });
  });

  it('permits released during a slot move do not stay held', async () => {
    const limiter = await open(100);
    const patient = await open(30_000);
    const places = held.map((rule): On => [rule, subject]);
    const free = async () =>
      (await patient.engine.decide(hitsOn(patient, places), { dryRun: true })).decisions.map(
        (each) => each.remaining,
      );
    const permits = [limiter, patient].map(async (each) =>
      each.engine.permit(await each.engine.decide(hitsOn(each, places))),
    );
    expect((await Promise.all(permits)).every(({ allowed }) => allowed)).toBe(true);
    await move.begin(`${prefix}{${subject}}:c:concurrency2`);
    await (await permits[0]!).release();
    await move.end();
    await until(async () => (await free()).join() === '1,1', 'one of them to be released on both');
    await (await permits[1]!).release();
    expect(await free()).toEqual([2, 2]);
  });
});
