import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ConcurrencyRule, Reservation, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { Adjuster } from '../../lib/stores/redis/wire/adjuster.js';
import { notRunSince } from '../support/not-run.js';
import { askInfo, askServer } from '../support/redis/ask-server.js';
import { LUA_COMMAND } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { untilPrefetching } from '../support/until-prefetching.js';
import { openRedisStore } from '../support/redis-store.js';

const MANY = 20_000;
const AHEAD: Rule = {
  algorithm: 'fixed-window',
  limit: 10,
  window: '1d',
  prefetch: { permits: 5, ttl: '1d' },
};
const PATIENCE_MS = 180_000;

interface Counts {
  readonly renewed: number;
  readonly lost: number;
}

/** Starts holding-process.mjs, and waits until it holds its permits. */
async function startHolder(task: object) {
  const program = fileURLToPath(new URL('holding-process.mjs', import.meta.url));
  const child = fork(program, [JSON.stringify(task)]);
  const answer = async (): Promise<unknown> => ((await once(child, 'message')) as unknown[])[0];
  await answer();
  const counts = (): Promise<Counts> => {
    const answered = answer();
    child.send('counts');
    return answered as Promise<Counts>;
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return { pid: child.pid!, counts, kill };
}

describe('a process that holds very much', () => {
  let server: RedisServer;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    store = await openRedisStore({ redis: server.url });
    limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    await server.stop();
  });

  /** How often the server has run the limiter's Lua, or a command in it. */
  async function calls(command: string = LUA_COMMAND): Promise<number> {
    const stats = (await askInfo(server, 'INFO', 'commandstats')).get(`cmdstat_${command}`) ?? '';
    return Number(/calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  it(
    '20,000 permits are kept by renewals of at most 100 keys that are spread over the interval',
    async () => {
      const rule: ConcurrencyRule = { algorithm: 'concurrency', limit: 1, lease: '30s' };
      const lost: number[] = [];
      const permits = await Promise.all(
        Array.from({ length: MANY }, async (_, nth) => {
          const permit = await limiter.hold(rule, String(nth));
          permit.signal.addEventListener('abort', () => lost.push(nth));
          return permit;
        }),
      );
      expect(permits.filter(({ allowed }) => !allowed)).toEqual([]);
      const renewals: number[] = [];
      const adjust = store.adjust.bind(store);
      store.adjust = async (adjustments, options) => {
        renewals.push(adjustments.length);
        return adjust(adjustments, options);
      };
      const renewed = () => renewals.reduce((sum, each) => sum + each, 0);
      await until(() => Promise.resolve(renewed() >= MANY), 'every permit to be renewed', 60_000);
      expect(Math.max(...renewals)).toBeLessThanOrEqual(100);
      expect(lost).toEqual([]);
      await Promise.all(permits.map((permit) => permit.release()));
      // The key of the heartbeats remains.
      expect((await askInfo(server, 'INFO', 'keyspace')).get('db0')).toMatch(/^keys=1,/);
    },
    PATIENCE_MS,
  );

  /** Runs an action while the server rejects writes, until refunds were tried several times. */
  async function whileRefused(action: () => Promise<unknown>): Promise<void> {
    await askServer(server, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
    await action();
    const adjust = jest.spyOn(Adjuster.prototype, 'adjustPart');
    await until(() => Promise.resolve(adjust.mock.calls.length >= 4), 'further attempts', 60_000);
    adjust.mockRestore();
    await askServer(server, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
  }

  const untilLeft = (rule: Rule, left: number) =>
    until(
      async () => {
        const { source, remaining } = await limiter.peek(rule, 'ann', { cost: 0 });
        return source === 'redis' && remaining === left;
      },
      'all refunds',
      20_000,
    );

  it.each(['the first', 'the last'])(
    'refunds of a log, %s before others, are all made after an outage',
    async (which) => {
      const rule: Rule = { algorithm: 'sliding-window-log', limit: 3000, window: '1h' };
      const reservations: Reservation[] = [];
      for (let nth = 0; nth < 1200; nth += 1) reservations.push(await limiter.reserve(rule, 'ann'));
      const inOrder = which === 'the first' ? reservations : reservations.toReversed();
      await whileRefused(() => Promise.all(inOrder.map((each) => each.cancel())));
      await untilLeft(rule, 3000);
    },
    PATIENCE_MS,
  );

  it(
    'refunds that are only made if none stands behind are all made after an outage',
    async () => {
      const rule: Rule = { algorithm: 'leaky-bucket', limit: 10, window: '1d', queue: 20 };
      const { remaining } = await limiter.peek(rule, 'ann', { cost: 0 });
      await limiter.consume(rule, 'ann');
      const reservations: Reservation[] = [];
      for (let nth = 0; nth < 6; nth += 1)
        reservations.push(await limiter.reserve(rule, 'ann', { maxWait: '5d' }));
      await whileRefused(() => Promise.all(reservations.map((each) => each.cancel())));
      await untilLeft(rule, remaining - 1);
    },
    PATIENCE_MS,
  );

  it(
    'the breaker of another process stays closed while a process renews 10,000 permits',
    async () => {
      const permits = 10_000;
      const holder = await startHolder({ url: server.url, prefix: uniquePrefix(), permits, lease: '9s' });
      const otherStore = new RedisStore({ redis: server.url });
      const other = new RateLimiter({ store: otherStore, prefix: uniquePrefix(), onStoreError: 'deny' });
      try {
        await otherStore.ready();
        const turns: string[] = [];
        other.events.on('breaker', ({ state, error }) => turns.push(`${state}: ${String(error)}`));
        const notRun = notRunSince(() => [server.pid, holder.pid, process.pid]);
        const rule: Rule = { algorithm: 'gcra', limit: 1_000_000, window: '1d' };
        let fallbacks = 0;
        let counts = await holder.counts();
        while (counts.renewed < permits) {
          for (let nth = 0; nth < 50; nth++) {
            if ((await other.consume(rule, 'ann')).source === 'fallback') fallbacks += 1;
            await sleep(1);
          }
          counts = await holder.counts();
        }
        // A busy machine excuses what a deadline of 50 ms cannot: the time in which the server did not run.
        if (notRun() < 50) expect([turns, fallbacks]).toEqual([[], 0]);
        if (notRun() < 3 * 50) expect(turns).toEqual([]);
        expect(counts.lost).toBe(0);
      } finally {
        await other.close();
        await otherStore.close();
        await holder.kill();
      }
    },
    PATIENCE_MS,
  );

  it(
    'a refund with 200,000 later requests in the log reads at most 100 of them, and the request stays charged',
    async () => {
      const [later, limit] = [200_000, 200_002];
      const log: Rule = { algorithm: 'sliding-window-log', limit, window: '1d' };
      const first = await limiter.consume(log, 'ann');
      for (let nth = 0; nth < later; nth += 1000) {
        const decisions = await Promise.all(Array.from({ length: 1000 }, () => limiter.consume(log, 'ann')));
        expect(decisions.filter(({ allowed }) => !allowed)).toEqual([]);
      }
      const reads = ['lindex', 'lrange'];
      const before = await Promise.all(reads.map((command) => calls(command)));
      expect(await limiter.refund(first)).toBe(false);
      const [lindex, lrange] = (await Promise.all(reads.map((command) => calls(command)))).map(
        (each, nth) => each - before[nth]!,
      );
      expect([lindex! <= 100 || lindex, lrange]).toEqual([true, 0]);
      const last = [await limiter.consume(log, 'ann'), await limiter.consume(log, 'ann')];
      expect(last).toMatchObject([{ allowed: true, remaining: 0 }, { allowed: false }]);
      expect(await limiter.refund(last[0]!)).toBe(true);
      const again = [await limiter.consume(log, 'ann'), await limiter.consume(log, 'ann')];
      expect(again).toMatchObject([{ allowed: true, remaining: 0 }, { allowed: false }]);
    },
    PATIENCE_MS,
  );

  it(
    'permits prefetched for 20,000 keys are all refunded at close',
    async () => {
      await untilPrefetching(limiter);
      await Promise.all(Array.from({ length: MANY }, (_, nth) => limiter.consume(AHEAD, String(nth))));
      const before = await calls();
      await limiter.close();
      expect((await calls()) - before).toBeGreaterThanOrEqual(100);
      const peeks = await Promise.all(
        Array.from({ length: MANY }, (_, nth) => limiter.peek({ ...AHEAD }, String(nth), { cost: 0 })),
      );
      expect(peeks.filter(({ remaining }) => remaining !== 9)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
