import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { commandCounts } from '../support/redis/command-counts.js';
import { LUA_COMMAND } from '../support/redis/lua-calls.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

/** All subjects of a rule with shares have one counter, in the slot of the rule. */
const pool = { name: 'pool', window: '1h', limit: 10_000, algorithm: 'gcra', share: {} } as const;
const team = { ...pool, name: 'team', limit: 20_000 } as const;
const tokens = { name: 'tokens', window: '1d', limit: 1_000, algorithm: 'fixed-window' } as const;
const streams = { name: 'streams', algorithm: 'concurrency', limit: 2 } as const;
const rules = [pool, team, tokens, streams] as const;

describe('a reservation of rules in several slots of a Cluster', () => {
  const time = new VirtualTime();
  let cluster: RedisCluster;
  let mine: Cluster;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    mine = new Cluster(cluster.startNodes);
    store = await openRedisStore({ redis: mine, clock: time.clock });
  });
  beforeEach(() => {
    limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny', denyCache: false });
  });
  afterAll(async () => {
    await store.close();
    mine.disconnect();
    await cluster.close();
  });

  const cost = { pool: 300, team: 300, tokens: 300, streams: 1 };
  const left = async () =>
    (await limiter.peek(rules, 'ann', { cost: 0 })).decisions.map(({ remaining }) => remaining);

  /** Returns how many calls of the limiter's Lua each master has had during an action. */
  async function calls(action: () => Promise<unknown>): Promise<number> {
    const masters = cluster.nodes.slice(0, 3).map(({ url }) => new Redis(url));
    const count = async () => {
      const counts = await Promise.all(masters.map((each) => commandCounts(each)));
      return counts.reduce((sum, each) => sum + (each.get(LUA_COMMAND) ?? 0), 0);
    };
    const before = await count();
    await action();
    const after = await count();
    for (const each of masters) each.disconnect();
    return after - before;
  }

  it('is settled under each of them, with at most one further call for each slot', async () => {
    const before = await left();
    let budget: Awaited<ReturnType<typeof reserve>> | undefined;
    const reserve = () => limiter.reserve(rules, 'ann', { cost });
    expect(await calls(async () => (budget = await reserve()))).toBeLessThanOrEqual(3);
    expect(budget!.allowed).toBe(true);
    const settle = () => budget!.settle({ pool: 100, team: 500, tokens: 200 });
    expect(await calls(settle)).toBeLessThanOrEqual(3);
    expect(await left()).toEqual([before[0]! - 100, before[1]! - 500, 800, 2]);
    expect(await calls(settle)).toBe(0);
  });

  it('takes nothing in any slot, and no stream, if the rule of one slot denies', async () => {
    const before = await left();
    const denied = await limiter.reserve(rules, 'ann', { cost: { ...cost, tokens: 1_001 } });
    expect([denied.allowed, denied.decision.rule]).toEqual([false, 'tokens']);
    expect(await left()).toEqual(before);
  });

  it('charges a stream that outgrows its estimate in every slot, and refunds the permits when it is cancelled', async () => {
    const before = await left();
    const budget = await limiter.reserve(rules, 'ann', { cost });
    expect(budget.used({ pool: 400, team: 400, tokens: 400 })).toBe(true);
    await budget.cancel();
    expect(await left()).toEqual([before[0]! - 100, before[1]! - 100, 900, 2]);
  });
});
