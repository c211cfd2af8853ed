import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { MemoryStore, type Decision, type ConcurrencyRule, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { examplesFor } from '../support/examples.js';
import { openRedisStore } from '../support/redis-store.js';
import { VirtualTime } from '../support/virtual-store.js';
import { hitsOn, subjectsApart, type On } from './places.js';

const hour = { window: '1h', algorithm: 'fixed-window' } as const;

const PLAIN = examplesFor({ limit: 5, windowMs: 10_000 })
  .filter(({ definition, example }) => !definition.leases && /^(by the clock)?$/.test(example.variant))
  .map(({ rule }) => rule as Rule);

describe('a request by subjects on three nodes of a cluster', () => {
  const time = new VirtualTime();
  let cluster: RedisCluster;
  let mine: Cluster;
  let stores: RedisStore[];
  let subjects: string[];
  let limiter: RateLimiter;
  let other: RateLimiter;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    subjects = await subjectsApart(cluster);
    mine = new Cluster(cluster.startNodes);
    stores = await Promise.all([1, 2].map(() => openRedisStore({ redis: mine, clock: time.clock })));
  });

  beforeEach(() => {
    const prefix = uniquePrefix();
    [limiter, other] = stores.map((store) => new RateLimiter({ store, prefix, onStoreError: 'deny' })) as [
      RateLimiter,
      RateLimiter,
    ];
  });

  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    mine.disconnect();
    await cluster.close();
  });

  const ask = (places: readonly On[], by = limiter) => by.engine.decide(hitsOn(by, places));
  const peek = (places: readonly On[]) => limiter.engine.decide(hitsOn(limiter, places), { dryRun: true });
  const remainingOf = ({ decisions }: Decision) => decisions.map(({ remaining }) => remaining);
  /** A rule for each node. */
  const apart = <Each extends AnyRule>(...rules: [Each, Each, Each]): On<Each>[] =>
    rules.map((rule, node) => [rule, subjects[node]!]);
  /** Every algorithm on each node. */
  const everywhere = () => PLAIN.flatMap((rule) => apart<Rule>(rule, rule, rule));

  it('a request across slots is charged to every rule once when all rules allow it', async () => {
    const decision = await ask(everywhere());
    expect(decision).toMatchObject({ allowed: true, source: 'redis' });
    expect(new Set(remainingOf(decision))).toEqual(new Set([4]));
    expect(new Set(remainingOf(await peek(everywhere())))).toEqual(new Set([4]));
  });

  describe.each([0, 1, 2])('when the node %d denies a request', (node) => {
    it('a denied request across slots is charged to no rule, twice in a row', async () => {
      const tight: On<Rule> = [{ ...hour, name: 'tight', limit: 1 }, subjects[node]!];
      await ask([...everywhere(), tight]);
      time.advance(1000);
      const before = await peek(everywhere());
      for (let nth = 1; nth <= 2; nth++) {
        const denied = await ask([...everywhere(), tight]);
        expect(denied).toMatchObject({
          allowed: false,
          rule: 'tight',
          source: 'redis',
          retryAfterMs: 3599e3,
        });
        expect(denied.decisions.slice(0, -1).map(figures)).toEqual(before.decisions.map(figures));
        expect((await peek(everywhere())).decisions.map(figures)).toEqual(before.decisions.map(figures));
      }
    });
  });

  it('a denied request across slots leaves new counters like fresh ones', async () => {
    const never: Rule = { ...hour, name: 'never', limit: 0 };
    const fresh = await peek(everywhere());
    for (const subject of subjects) {
      expect(await ask([...everywhere(), [never, subject]])).toMatchObject({ allowed: false, rule: 'never' });
    }
    time.advance(1000);
    expect((await peek(everywhere())).decisions.map(figures)).toEqual(fresh.decisions.map(figures));
  });

  it('a peek across slots returns the decision of the request, whether a node denies or none', async () => {
    const tight: On = [{ name: 'tight', window: '1h', limit: 1, algorithm: 'fixed-window' }, subjects[1]!];
    for (let nth = 1; nth <= 3; nth++) {
      const places = [...everywhere(), tight];
      const peeked = await limiter.engine.decide(hitsOn(limiter, places), { dryRun: true, peek: true });
      expect(peeked.decisions.map(figures)).toEqual((await ask(places)).decisions.map(figures));
    }
  });

  it('a request across slots gets the same decision as on a single server, whatever came before', async () => {
    const single = new RateLimiter({ store: new MemoryStore({ clock: time.clock }), denyCache: false });
    const more: Rule[] = [
      { name: 'block', algorithm: 'fixed-window', limit: 4, window: '5s', block: '3s' },
      { name: 'watched', algorithm: 'gcra', limit: 3, window: '5s', mode: 'shadow' },
      { name: 'tried', algorithm: 'token-bucket', limit: 6, window: '5s', trial: { limit: 2 } },
    ];
    const rules = [...PLAIN, ...more];
    let denied = 0;
    for (let nth = 0; nth < 200; nth++) {
      // Another selection of rules and subjects each time, the same in every run.
      const places = rules.flatMap((rule, at): On<Rule>[] =>
        (nth * 7 + at * 5) % 4 === 0 ? [[{ ...rule, cost: (nth + at) % 3 }, subjects[(nth + at) % 3]!]] : [],
      );
      time.advance((nth * 137) % 300);
      const [here, there] = await Promise.all([ask(places), ask(places, single)]);
      expect(here.decisions.map(figures)).toEqual(there.decisions.map(figures));
      expect(here.allowed).toBe(there.allowed);
      if (!here.allowed) denied += 1;
    }
    expect(denied).toBeGreaterThan(20);
    expect(denied).toBeLessThan(180);
  }, 120_000);

  it('requests across slots are allowed exactly as often as the strictest rule permits and charged no further', async () => {
    const places = apart<Rule>({ ...hour, limit: 1000 }, { ...hour, limit: 30 }, { ...hour, limit: 2000 });
    const asked = Array.from({ length: 200 }, (_, nth) => ask(places, nth % 2 ? limiter : other));
    const decisions = await Promise.all(asked);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(30);
    expect(remainingOf(await peek(places))).toEqual([970, 0, 1970]);
  });

  it('requests across slots never exceed any limit, and no permit leaks when all rules run out', async () => {
    const places = apart<Rule>({ ...hour, limit: 30 }, { ...hour, limit: 30 }, { ...hour, limit: 31 });
    const asked = Array.from({ length: 200 }, (_, nth) => ask(places, nth % 2 ? limiter : other));
    let admitted = (await Promise.all(asked)).filter(({ allowed }) => allowed).length;
    expect(admitted).toBeLessThanOrEqual(30);
    expect(remainingOf(await peek(places))).toEqual([30 - admitted, 30 - admitted, 31 - admitted]);
    while ((await ask(places)).allowed) admitted += 1;
    expect(admitted).toBe(30);
  });

  it('a refund returns the permits on all nodes, once', async () => {
    await ask(everywhere());
    time.advance(1000);
    const before = await peek(everywhere());
    const decision = await ask(everywhere());
    expect(remainingOf(await peek(everywhere()))).not.toEqual(remainingOf(before));
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.refund(decision)).toBe(false);
    // A permit in a leaky bucket is refunded only with `onlyLast`, or while no request waits behind it, as here.
    expect((await peek(everywhere())).decisions.map(figures)).toEqual(before.decisions.map(figures));
  });

  it('a reservation across slots is settled by rule name, with a rule that all subjects share', async () => {
    const rules: readonly Rule[] = [
      { name: 'tokens', algorithm: 'gcra', window: '1h', limit: 10_000, share: {} },
      { name: 'requests', algorithm: 'token-bucket', window: '1h', limit: 60 },
    ];
    // The key of `tokens` is on the node of its name; these subjects are on three nodes.
    const settleAll = async (by: RateLimiter) => {
      const settled: unknown[] = [];
      for (const subject of subjects) {
        const reservation = await by.reserve(rules, subject, { cost: { tokens: 2_000 } });
        settled.push(reservation.allowed, await reservation.settle({ tokens: 500 }));
      }
      for (const subject of subjects) {
        const { decisions } = await by.peek(rules, subject, { cost: 0 });
        settled.push(decisions.map(figures));
      }
      return settled;
    };
    const single = new RateLimiter({ store: new MemoryStore({ clock: time.clock }), denyCache: false });
    const settled = await settleAll(limiter);
    expect(settled.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => true));
    expect(settled).toEqual(await settleAll(single));
    expect((await limiter.peek(rules[1]!, subjects[0]!, { cost: 0 })).remaining).toBe(59);
    await single.close();
  });

  it('a refund returns only the permits of the rules it names', async () => {
    const rules = ['a', 'b', 'c'].map((name): Rule => ({ ...hour, name, limit: 5 })) as [Rule, Rule, Rule];
    const places = apart(...rules);
    const decision = await ask(places);
    expect(await limiter.refund(decision, { rules: ['b'] })).toBe(true);
    expect(remainingOf(await peek(places))).toEqual([4, 5, 4]);
    expect(await limiter.refund(decision)).toBe(true);
    expect(remainingOf(await peek(places))).toEqual([5, 5, 5]);
  });

  it('a held permit across slots is held on each node until release, and on none if one node denies', async () => {
    const lease: ConcurrencyRule = { algorithm: 'concurrency', limit: 2, lease: '1m' };
    const places = apart<ConcurrencyRule>(lease, { ...lease, limit: 1 }, lease);
    const held = limiter.engine.permit(await ask(places));
    expect(held.allowed).toBe(true);
    for (let nth = 1; nth <= 2; nth++) {
      expect(limiter.engine.permit(await ask(places)).allowed).toBe(false);
      expect(remainingOf(await peek(places))).toEqual([1, 0, 1]);
    }
    await held.release();
    await held.release();
    expect(remainingOf(await peek(places))).toEqual([2, 1, 2]);
  });

  it('an acquire across slots waits for its longest wait and refunds everything when it is aborted', async () => {
    const queue: Rule = { algorithm: 'leaky-bucket', limit: 1, window: '1m', queue: 3 };
    const places = apart<Rule>(queue, { ...queue, window: '2m' }, queue);
    await ask(places);
    const before = await peek(places);
    const waiting = await ask(places);
    expect(waiting).toMatchObject({ allowed: true, delayMs: 120_000 });
    const gaveUp = new Error('gave up');
    await expect(limiter.engine.delay(waiting, AbortSignal.abort(gaveUp))).rejects.toBe(gaveUp);
    expect(await peek(places)).toEqual(before);
  });

  it('an acquire across slots leaves every queue when one wait is too long', async () => {
    const queue: Rule = { algorithm: 'token-bucket', limit: 1, window: '1m' };
    const places = apart<Rule>({ ...queue, limit: 60 }, queue, { ...queue, limit: 60 });
    const ahead = (seconds: number) =>
      limiter.engine.decide(hitsOn(limiter, places), { maxWait: seconds * 1e6 });
    await ahead(0);
    const before = await peek(places);
    expect((await ahead(59)).allowed).toBe(false);
    expect(await peek(places)).toEqual(before);
    expect(await ahead(60)).toMatchObject({ allowed: true, delayMs: 60_000 });
  });

  it('a shadow rule on another node is reported while the other rules are charged', async () => {
    const watched: Rule = { ...hour, name: 'watched', limit: 1, mode: 'shadow' };
    const places = apart<Rule>({ ...hour, limit: 5 }, watched, { ...hour, limit: 5 });
    await ask(places);
    const decision = await ask(places);
    expect(decision.allowed).toBe(true);
    expect(decision.decisions[1]).toMatchObject({ allowed: false, shadow: true, remaining: 0 });
    expect(remainingOf(await peek(places))).toEqual([3, 0, 3]);
  });

  it('a shadow rule is not charged when another rule denies the request', async () => {
    const watched: Rule = { ...hour, name: 'watched', limit: 5, mode: 'shadow' };
    const places = apart<Rule>({ ...hour, limit: 1 }, watched, { ...hour, limit: 5 });
    await ask(places);
    expect((await ask(places)).allowed).toBe(false);
    expect(remainingOf(await peek(places))).toEqual([0, 4, 4]);
  });
});

/**
 * Returns the fields of a result that do not depend on what decided it. A log that received a refund still waits for
 * the refunded request to expire.
 */
function figures({ resetAfterMs, source: _, ...told }: Decision['decisions'][number]) {
  return told.rule === 'sliding-window-log' ? told : { ...told, resetAfterMs };
}
