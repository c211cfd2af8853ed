import { afterEach, expect, it } from '@jest/globals';
import type { RuleSource, SourcedRule } from '../../lib/index.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { askServer } from '../support/redis/ask-server.js';
import { until } from '../support/redis/until.mjs';
import { closeApps } from '../support/nest-app.js';
import { startLiveApp } from './live-app.js';

afterEach(closeApps);

/** A source of an application, with entries as a test needs them. */
function ownSource(entries: readonly object[], others: Partial<RuleSource> = {}) {
  let version = 1;
  let changed = (): void => undefined;
  const source: RuleSource = {
    load: async () =>
      ({ version, entries: entries as readonly SourcedRule[], ...{ loss: null, evicting: null } }) as never,
    watch: (callback) => {
      changed = callback;
      return () => undefined;
    },
    ...others,
  };
  return { source, announce: () => changed(), next: () => (version += 1) };
}

const limitOf = async (app: Awaited<ReturnType<typeof startLiveApp>>, subject = '10.0.0.1') =>
  (await app.limits.peek('login', subject)).limit;

it('an entry of an own source may have fields that JSON cannot hold, and ends in time', async () => {
  const row: Record<string, unknown> = { id: 5n, rule: 'login', fields: { limit: 3 }, expiresInMs: 300 };
  row['self'] = row;
  const app = await startLiveApp(ownSource([row]).source);
  expect(await limitOf(app)).toBe(3);
  await until(async () => (await limitOf(app)) === 10, 'the end of the change');
  expect(await app.codes()).toEqual([]);
});

it('an own source may change its entries: a new version applies them, and until then nothing changes', async () => {
  const entries = [
    { rule: 'login', fields: { limit: 3 } as Record<string, unknown> },
    { rule: 'login', subject: '10.0.0.9', fields: { limit: 30 } as Record<string, unknown> },
  ];
  const { source, announce, next } = ownSource(entries);
  const app = await startLiveApp(source);
  entries[0]!.fields['limit'] = 4;
  entries[1]!.fields['limit'] = 'unlimited';
  expect(await limitOf(app)).toBe(3);
  expect(await limitOf(app, '10.0.0.9')).toBe(30);
  entries[1]!.fields['limit'] = 40;
  next();
  announce();
  await until(async () => (await limitOf(app)) === 4, 'the new version');
  expect(await limitOf(app, '10.0.0.9')).toBe(40);
});

it('null of a database is what is absent', async () => {
  const { source, announce, next } = ownSource([
    {
      rule: 'login',
      fields: { limit: 10 },
      expiresInMs: null,
      counter: null,
      by: null,
      reason: null,
      at: null,
    },
  ]);
  const empty: RuleSource = { ...source, load: async () => ({ version: 0, entries: [] }) };
  const app = await startLiveApp(empty);
  await app.limits.consume('login', '10.0.0.1', { cost: 10 });
  Object.assign(empty, { load: source.load });
  next();
  announce();
  await until(() => app.rules.version === 2, 'the change');
  expect((await app.limits.consume('login', '10.0.0.1')).allowed).toBe(false);
  expect(await app.codes()).toEqual([]);
});

it('a subject of null is no change for all: it is rejected and reported', async () => {
  const app = await startLiveApp(ownSource([{ rule: 'login', fields: { limit: 99 }, subject: null }]).source);
  expect(await limitOf(app)).toBe(10);
  expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
});

it.each<[string, Partial<RuleSource>]>([
  [
    'cannot stop',
    {
      watch: () => () => {
        throw new Error('stop fails');
      },
    },
  ],
  [
    'cannot close',
    {
      close: async () => {
        throw new Error('close fails');
      },
    },
  ],
  ['hangs while it closes', { close: () => new Promise(() => undefined) }],
])('an application whose source %s closes its connections to Redis', async (_, others) => {
  const redis = await startRedisServer();
  try {
    const app = await startLiveApp(ownSource([], others).source, { redis: redis.url });
    await app.limits.consume('login', '10.0.0.1');
    await app.app.close();
    const clients = async () =>
      String(await askServer(redis, 'CLIENT', 'LIST'))
        .trim()
        .split('\n').length - 1;
    await until(async () => (await clients()) === 0, 'the end of all connections');
  } finally {
    await redis.stop();
  }
});
