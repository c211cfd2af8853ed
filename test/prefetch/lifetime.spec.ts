import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { Keys } from '../../lib/rules/keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { askServer } from '../support/redis/ask-server.js';
import { luaCalls } from '../support/redis/lua-calls.js';
import { recordCommands } from '../support/redis/record-commands.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { untilPrefetching } from '../support/until-prefetching.js';
import { VirtualTime } from '../support/virtual-store.js';

const rule: Rule = {
  algorithm: 'fixed-window',
  limit: 100,
  window: '1h',
  prefetch: { permits: 20, ttl: '10s' },
};

describe('a prefetch', () => {
  let server: RedisServer;
  let time: VirtualTime;
  const open: { store: RedisStore; limiter: RateLimiter }[] = [];

  async function openProcess(): Promise<RateLimiter> {
    const store = await openRedisStore({ redis: server.url, clock: time.clock });
    const limiter = new RateLimiter({ store, onStoreError: 'deny' });
    open.push({ store, limiter });
    await untilPrefetching(limiter);
    return limiter;
  }

  /** Returns the remaining permits according to the store. */
  const left = async (limiter: RateLimiter, subject = 'ann') => {
    const { prefetch: _, ...plain } = rule;
    return (await limiter.peek(plain, subject, { cost: 0 })).remaining;
  };

  beforeEach(async () => {
    server = await startRedisServer();
    time = new VirtualTime();
  });

  afterEach(async () => {
    for (const { store, limiter } of open.splice(0)) {
      await limiter.close();
      await store.close();
    }
    await server.stop();
  });

  it('a prefetch calls the store once for its permits, and decisions report their source', async () => {
    const limiter = await openProcess();
    const sources: string[] = [];
    const commands = await recordCommands(server.url, async () => {
      for (let hit = 0; hit < 40; hit++) sources.push((await limiter.consume(rule, 'ann')).source);
    });
    expect(luaCalls(commands)).toHaveLength(2);
    const twenty = ['redis', ...Array.from({ length: 19 }, () => 'cache')];
    expect(sources).toEqual([...twenty, ...twenty]);
  });

  it('a prefetch reports how many permits this process has left', async () => {
    const limiter = await openProcess();
    const said: number[] = [];
    for (let hit = 0; hit < 3; hit++) said.push((await limiter.consume(rule, 'ann')).remaining);
    expect(said).toEqual([99, 98, 97]);
    expect(await left(limiter)).toBe(80);
  });

  it('a prefetch never leaves more than its permits unused', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    await one.consume(rule, 'ann');
    let admitted = 0;
    while ((await other.consume(rule, 'ann')).allowed) admitted += 1;
    expect(admitted).toBe(80);
    expect((await one.consume(rule, 'ann')).allowed).toBe(true);
  });

  it('a prefetch refunds unused permits after its ttl', async () => {
    const limiter = await openProcess();
    for (let hit = 0; hit < 3; hit++) await limiter.consume(rule, 'ann');
    expect(await left(limiter)).toBe(80);
    time.advance(10_000);
    await until(async () => (await left(limiter)) === 97, 'the rest to be given back');
  });

  it('a prefetch refunds unused permits when its process ends', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    for (let hit = 0; hit < 3; hit++) await one.consume(rule, 'ann');
    await one.close();
    expect(await left(other)).toBe(97);
  });

  it('a prefetch ends with the window of its permits', async () => {
    const limiter = await openProcess();
    const short: Rule = { ...rule, window: '5s', prefetch: { permits: 20, ttl: '1m' as const } };
    await limiter.consume(short, 'ann');
    time.advance(5000);
    expect(await limiter.consume(short, 'ann')).toMatchObject({ source: 'redis', remaining: 99 });
  });

  it('a prefetch is dropped by a reset of any process', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    await one.consume(rule, 'ann');
    await one.reset(rule, 'ann');
    expect(await one.consume(rule, 'ann')).toMatchObject({ source: 'redis', remaining: 99 });
    // From now on, it receives the resets of the other one.
    await until(async () => {
      await other.reset(rule, 'ann');
      return (await one.consume(rule, 'ann')).source === 'redis';
    }, 'the reset to be told');
    expect(await left(other)).toBe(80);
  });

  it('each of two resets in a row of another process drops what was prefetched', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    await until(async () => {
      await one.consume(rule, 'ann');
      await other.reset(rule, 'ann');
      await left(one); // Redis has announced the reset before,
      await turn(); // and what has arrived together with the reply is read.
      return (await one.peek(rule, 'ann')).source === 'redis';
    }, 'the first reset');
    await one.consume(rule, 'ann');
    expect((await one.peek(rule, 'ann')).source).toBe('cache');
    await other.reset(rule, 'ann');
    await until(async () => (await one.peek(rule, 'ann')).source === 'redis', 'the second reset');
  });

  it('a prefetch is refunded after a gap in the reports of resets, so that none outlives a reset', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    await one.consume(rule, 'ann');
    await one.consume(rule, 'bob');
    await askServer(server, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
    await other.reset(rule, 'ann');
    await untilPrefetching(one);
    expect((await one.peek(rule, 'ann')).source).toBe('redis');
    await until(async () => (await left(other, 'bob')) === 99, 'the refund of the other subject');
    expect(await left(other)).toBe(100);
  });

  it('a prefetch is kept when others of its process begin to follow changes', async () => {
    const one = await openProcess();
    await one.consume(rule, 'ann');
    const second = new RateLimiter({ store: open[0]!.store });
    await untilPrefetching(second);
    await second.close();
    expect((await one.peek(rule, 'ann')).source).toBe('cache');
  });

  it('all permits are refunded by a process that ends while it refunds after a gap in the reports', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const subjects = Array.from({ length: 1000 }, (_, nth) => `subject ${nth}`);
    await Promise.all(subjects.map((subject) => one.consume(rule, subject)));
    await askServer(server, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
    await untilPrefetching(one);
    await one.close();
    await open[0]!.store.close();
    const rest = await Promise.all(subjects.map((subject) => left(other, subject)));
    expect(rest.filter((remaining) => remaining !== 99)).toEqual([]);
  });

  it('a prefetch refunds nothing after a reset that its process did not notice', async () => {
    const limiter = await openProcess();
    const { store } = open[0]!;
    const hits = new Keys('rl:', time.clock).keyed(compileRule(rule)).hits('ann');
    const taken = { permits: 20, name: 'lost', keptFor: 60e6 };
    await store.decide(hits, { prefetch: taken });
    await store.reset(hits);
    time.advance(1);
    await store.decide([{ ...hits[0]!, cost: 50 }], {});
    const refund = {
      ...hits[0]!,
      kind: 'refund',
      cost: 20,
      receipt: 0,
      chargedAt: 0,
      source: 'redis',
    } as const;
    const once = { name: 'lost', until: Infinity };
    // Refunded once by its name; a receipt that was found is not looked up again.
    expect(await store.adjust([{ ...refund, once }])).toEqual([true]);
    expect(await left(limiter)).toBe(50);
    expect(await store.adjust([{ ...refund, once }])).toEqual([false]);
  });

  it('a prefetch keeps the permit of a refunded request', async () => {
    const limiter = await openProcess();
    await limiter.consume(rule, 'ann');
    const decision = await limiter.consume(rule, 'ann');
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    expect(await left(limiter)).toBe(81);
  });

  it('a prefetch continues without the store until its permits are used', async () => {
    const limiter = await openProcess();
    await limiter.consume(rule, 'ann');
    await server.kill();
    for (let hit = 0; hit < 19; hit++) expect((await limiter.consume(rule, 'ann')).source).toBe('cache');
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
  });

  it('a prefetch does not decide requests with several rules', async () => {
    const limiter = await openProcess();
    const other: Rule = { name: 'other', algorithm: 'fixed-window', limit: 100, window: '1h' };
    const both = [rule, other];
    await limiter.consume(both, 'ann');
    expect(await limiter.consume(both, 'ann')).toMatchObject({ source: 'redis', remaining: 98 });
  });

  it('concurrent requests share one prefetch', async () => {
    const limiter = await openProcess();
    const ask = () => Promise.all(Array.from({ length: 20 }, () => limiter.consume(rule, 'ann')));
    const commands = await recordCommands(server.url, ask);
    expect(luaCalls(commands)).toHaveLength(1);
    expect(await left(limiter)).toBe(80);
  });

  it('requests take permits one by one when the store has fewer than a prefetch needs', async () => {
    const limiter = await openProcess();
    const few: Rule = { ...rule, limit: 30 };
    let admitted = 0;
    while ((await limiter.consume(few, 'ann')).allowed) admitted += 1;
    expect(admitted).toBe(30);
  });
});

const WRONG: readonly (readonly [string, Rule, string])[] = [
  [
    'a log',
    { algorithm: 'sliding-window-log', limit: 9, window: '1m', prefetch: { permits: 2 } } as never,
    'no such option',
  ],
  ['one permit', { ...rule, prefetch: { permits: 1 } }, 'an integer from 2'],
  ['a wrong ttl', { ...rule, prefetch: { permits: 2, ttl: 'soon' as never } }, 'permits: an integer from 2'],
  ['more than the limit', { ...rule, limit: 10 }, 'at most 10'],
  ['a block', { ...rule, block: '5m' }, 'none with block'],
  [
    'whole refills',
    { algorithm: 'token-bucket', limit: 9, window: '1m', refill: 'interval', prefetch: { permits: 2 } },
    'continuous',
  ],
  [
    'a warm-up',
    { algorithm: 'token-bucket', limit: 9, window: '1m', warmUp: '5s', prefetch: { permits: 2 } } as never,
    'prefetch',
  ],
];

it.each(WRONG)(
  'prefetch cannot be combined with %s, and the first use reports it',
  async (_name, wrong, message) => {
    const store = { source: 'redis', clock: Date.now, decide: () => [] } as never;
    await expect(new RateLimiter({ store }).consume(wrong, 'ann')).rejects.toThrow(message);
  },
);
