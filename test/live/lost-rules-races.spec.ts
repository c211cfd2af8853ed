import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitConflictError } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { startLiveApp, type LiveApp } from './live-app.js';

const BY = { by: 'ops@example.com' };
const ROUNDS = 5;

const closers: (() => unknown)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closers.splice(0).reverse()) await close();
});

/** Starts two applications, each with its own connection, whose live rules are lost in each round. */
async function startTwo() {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  closers.push(
    () => server.stop(),
    () => redis.disconnect(),
  );
  const start = (name: string) =>
    startLiveApp(new RedisRuleSource({ redis: `${server.url}/0?connectionName=${name}` }));
  const apps = [await start('one'), await start('other')] as const;
  await apps[0].rules.set('login', { limit: 3 }, BY);
  const lose = async () => {
    await redis.flushall();
    for (const { rules } of apps) await until(() => rules.loss !== undefined, 'the loss');
  };
  return { apps, lose };
}

const limitOf = async (app: LiveApp) => Number(/"login";q=(\d+)/.exec((await app.policyOf('/login'))!)![1]);

/** Expects that all processes agree without a loss, and returns the limit in force. */
async function agreed(apps: readonly LiveApp[]): Promise<number> {
  const stored = (await apps[0]!.rules.get('login'))?.fields;
  const limit = typeof stored === 'object' ? Number(stored.limit) : 10;
  for (const app of apps) {
    await until(async () => (await limitOf(app)) === limit, `limit ${limit}`);
    await until(() => app.rules.loss === undefined, 'the end of the loss');
  }
  return limit;
}

describe('operators of two processes that act on one loss at once', () => {
  it.each([
    ['restore', 'accept'],
    ['restore', 'restore'],
    ['accept', 'accept'],
  ] as const)(
    '%s and %s: one applies in both processes, and the other is refused',
    async (one, other) => {
      const { apps, lose } = await startTwo();
      for (let round = 1; round <= ROUNDS; round += 1) {
        await lose();
        const [first, second] = round % 2 === 0 ? apps : apps.toReversed();
        const calls = [first.rules[one](BY), second.rules[other](BY)];
        const results = await Promise.allSettled(calls);
        const refused = results.filter((result) => result.status === 'rejected');
        expect(refused.map(({ reason }) => reason as unknown)).toEqual([expect.any(RateLimitConflictError)]);
        const [record] = await apps[0].rules.history();
        expect(await agreed(apps)).toBe(record?.loss === 'restored' ? 3 : 10);
        if (record?.loss === 'accepted') await apps[0].rules.set('login', { limit: 3 }, BY);
        await agreed(apps);
      }
    },
    60_000,
  );

  it.each(['restore', 'accept'] as const)(
    '%s and a change: the change is refused, or made after it, and no version is taken twice',
    async (confirm) => {
      const { apps, lose } = await startTwo();
      for (let round = 1; round <= ROUNDS; round += 1) {
        await lose();
        const [first, second] = apps;
        const confirmed = first.rules[confirm](BY);
        const changes = [4, 5, 6].map((limit) => second.rules.set('login', { limit }, BY));
        await confirmed;
        for (const result of await Promise.allSettled(changes)) {
          if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(RateLimitConflictError);
        }
        const versions = (await first.rules.history()).map(({ version }) => version);
        expect(versions).toEqual([...new Set(versions)].sort((a, b) => b - a));
        expect(versions.length).toBeGreaterThan(0);
        await first.rules.set('login', { limit: 3 }, BY);
        await agreed(apps);
      }
    },
    60_000,
  );
});
