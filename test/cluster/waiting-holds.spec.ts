import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Permit } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import type { RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { subjectsApart } from './places.js';

const HOUR = 3600e3;
const LIMIT = 2;
const rule: ConcurrencyRule = { name: 'reports', algorithm: 'concurrency', limit: LIMIT, lease: '1h' };

describe('holds that wait on a node of a cluster that is lost', () => {
  let cluster: RedisCluster;
  let subjects: [string, string, string];
  let node: RedisServer;
  const opened: { close: () => Promise<void> }[] = [];

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false, config: ['cluster-require-full-coverage no'] });
    subjects = await subjectsApart(cluster);
    node = cluster.nodes[1]!;
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    if (!node.isUp) await node.restart();
    await cluster.untilWhole();
  });
  afterAll(() => cluster.close());

  async function open(onStoreError: 'local' | 'deny', instances = 1) {
    const store = await RedisStore.open({ redis: cluster.nodes[0]!.url, timeout: 10_000 });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError, instances });
    opened.push(limiter, store);
    for (const subject of subjects) {
      await until(async () => (await limiter.peek(rule, subject)).source === 'redis', 'the node to decide');
    }
    return limiter;
  }

  /** Takes all permits of a subject, and lets holds wait; counts how many of these have permits at the same time. */
  async function crowd(limiter: RateLimiter, subject: string, size: number) {
    const held: Permit[] = [];
    for (let nth = 0; nth < LIMIT; nth++) held.push(await limiter.hold(rule, subject));
    const counts = { inside: 0, most: 0, allowed: 0, denied: 0, sources: new Set<string>() };
    const waits = Array.from({ length: size }, async () => {
      const permit = await limiter.hold(rule, subject, { maxWait: `${HOUR}ms` });
      counts.sources.add(permit.decision.source);
      if (!permit.allowed) return void (counts.denied += 1);
      counts.allowed += 1;
      counts.inside += 1;
      counts.most = Math.max(counts.most, counts.inside);
      await new Promise((resolve) => setImmediate(resolve));
      counts.inside -= 1;
      await permit.release();
    });
    await until(async () => !(await limiter.peek(rule, subject)).allowed, 'the holds to wait');
    return { held, counts, end: Promise.all(waits) };
  }

  it('get the permits of the share of the process, one after the other, and the other nodes keep theirs', async () => {
    const limiter = await open('local');
    const [here, lost] = subjects;
    const [first, second] = [await crowd(limiter, here, 5), await crowd(limiter, lost, 10)];
    await node.kill();
    await second.end;
    expect(second.counts).toMatchObject({ allowed: 10, denied: 0 });
    expect(second.counts.most).toBeLessThanOrEqual(LIMIT);
    expect(second.counts.sources).toEqual(new Set(['fallback']));
    expect(first.counts.allowed).toBe(0);
    for (const permit of first.held) await permit.release();
    await first.end;
    expect(first.counts).toMatchObject({ allowed: 5, denied: 0, sources: new Set(['redis']) });
    expect(first.counts.most).toBeLessThanOrEqual(LIMIT);
  });

  it('are denied at once with the fallback deny', async () => {
    const limiter = await open('deny');
    const [, lost] = subjects;
    const { counts, end } = await crowd(limiter, lost, 10);
    await node.kill();
    await end;
    expect(counts).toMatchObject({ allowed: 0, denied: 10 });
  });

  it('that wait in the fallback get their permits from the node that is back', async () => {
    const limiter = await open('local');
    const [, lost] = subjects;
    await node.kill();
    await until(async () => (await limiter.peek(rule, lost)).source === 'fallback', 'the fallback');
    const { counts, end } = await crowd(limiter, lost, 10);
    expect(counts.allowed).toBe(0);
    await node.restart();
    await end; // The node has lost its counters: the permits of the fallback are additional.
    expect(counts).toMatchObject({ allowed: 10, denied: 0 });
    expect(counts.sources).toContain('redis');
    expect(counts.most).toBeLessThanOrEqual(LIMIT);
    await until(
      async () => (await limiter.peek(rule, lost, { cost: 0 })).remaining === LIMIT,
      'no permit to be left taken',
    );
  });

  it('end when their time is over, while the node is lost and after it is back', async () => {
    const limiter = await open('local');
    const [, lost] = subjects;
    await node.kill();
    await until(async () => (await limiter.peek(rule, lost)).source === 'fallback', 'the fallback');
    for (let nth = 0; nth < LIMIT; nth++)
      expect(await limiter.hold(rule, lost)).toMatchObject({ allowed: true });
    const ends = Array.from({ length: 5 }, () => limiter.hold(rule, lost, { maxWait: '50ms' }));
    for (const end of ends) expect(await end).toMatchObject({ allowed: false });
  });
});
