import { afterEach, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RuleSource, SourcedRule } from '../../lib/index.js';
import { RuleTable } from '../../lib/nest/rules/rule-table.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { askServer } from '../support/redis/ask-server.js';
import { until } from '../support/redis/until.mjs';
import { runCommand } from '../packaging/run-command.js';
import { packageRoot } from '../packaging/tarball.js';
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
  await until(() => app.rules.follower?.version === 2, 'the change');
  expect((await app.limits.consume('login', '10.0.0.1')).allowed).toBe(false);
  expect(await app.codes()).toEqual([]);
});

it('a subject of null is no change for all: it is rejected and reported', async () => {
  const app = await startLiveApp(ownSource([{ rule: 'login', fields: { limit: 99 }, subject: null }]).source);
  expect(await limitOf(app)).toBe(10);
  expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
});

it('an exception that does not fit, and one that cannot be read, leave the other changes of the rule in force', async () => {
  const entries: object[] = [
    { rule: 'login', fields: { limit: 3 } },
    { rule: 'login', subject: '10.0.0.7', fields: { limit: 7 } },
    { rule: 'login', subject: '10.0.0.8', fields: { limit: -1 } },
    { rule: 'login', subject: '10.0.0.9', fields: { limit: 9n } },
    { rule: 'login', subject: 'no address', fields: { limit: 9 } },
    { rule: 'login', subject: '10.0.0.5', fields: { limit: undefined } },
  ];
  const { source, announce, next } = ownSource(entries);
  const app = await startLiveApp(source);
  const limits = () => Promise.all([1, 5, 7, 8, 9].map((host) => limitOf(app, `10.0.0.${host}`)));
  expect(await limits()).toEqual([3, 3, 7, 3, 3]);
  const [line, ...others] = app.logs
    .ours()
    .filter(({ message }) => message.includes('RL_LIVE_RULE_REJECTED'));
  expect(others).toEqual([]);
  for (const each of ['10.0.0.8', 'JSON cannot hold', 'no address', '10.0.0.5'])
    expect(line!.message).toContain(each);

  entries[1] = { rule: 'login', subject: '10.0.0.7', fields: { limit: -7 } };
  entries[0] = { rule: 'login', fields: { limit: 4 } };
  next();
  announce();
  await until(async () => (await limitOf(app)) === 4, 'the new version');
  expect(await limits()).toEqual([4, 4, 7, 4, 4]); // 7: the last exception that fitted
  expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);

  entries.splice(1);
  next();
  announce();
  await until(async () => (await limitOf(app, '10.0.0.7')) === 4, 'the new version');
  expect(await app.codes()).toEqual([]);
});

it('a source that reports each of its own loads is loaded again after a pause', async () => {
  let loads = 0;
  const { source } = ownSource([{ rule: 'login', fields: { limit: 3 } }]);
  let changed = (): void => undefined;
  const app = await startLiveApp({
    watch: (callback) => {
      changed = callback;
      return () => undefined;
    },
    load: async () => {
      loads += 1;
      changed();
      return source.load();
    },
  });
  expect(await limitOf(app)).toBe(3);
  const before = loads;
  for (let turn = 0; turn < 1000; turn += 1) await nextTurn();
  expect(loads - before).toBeLessThan(1000);
  await until(() => loads > before, 'another load');
});

it('a process with a source that never answers starts and ends, also if it has nothing else to do', async () => {
  const program = `
    import 'reflect-metadata';
    import { NestFactory } from '@nestjs/core';
    import { RateLimitModule } from './dist/esm/index.js';
    const never = () => new Promise(() => undefined);
    const limits = RateLimitModule.forRoot({ liveRules: { load: never, watch: () => never, close: never } });
    const app = await NestFactory.createApplicationContext(limits, { logger: false });
    console.log('started');
    await app.close();
    console.log('closed');`;
  const output = await runCommand(packageRoot, process.execPath, '--input-type=module', '--eval', program);
  expect(output).toBe('started\nclosed\n');
});

it('more entries than a source may hold are reported, and the last ones stay in force', async () => {
  const entries: object[] = [{ rule: 'login', fields: { limit: 3 } }];
  const { source, announce, next } = ownSource(entries);
  const app = await startLiveApp(source);
  const others = (fields: object) =>
    Array.from({ length: 1001 }, (_, nth) => ({
      rule: 'login',
      subject: `10.0.1.${nth % 250}x${nth}`,
      ...fields,
    }));
  entries.splice(0, 1, ...others({ fields: 'deny' }));
  next();
  announce();
  await until(async () => (await app.codes()).includes('RL_LIVE_RULES_UNREAD'), 'the warning');
  expect(await limitOf(app)).toBe(3);
  entries.splice(0, 1001, ...others({ fields: 'deny', expiresInMs: 0 }), {
    rule: 'login',
    fields: { limit: 4 },
  });
  await until(async () => (await limitOf(app)) === 4, 'the other entries');
});

it('a change whose end is moved applies until the new end, and is not taken over again meanwhile', async () => {
  const entry = { rule: 'login', fields: { limit: 3 }, expiresInMs: 300 };
  const { source, announce, next } = ownSource([entry]);
  const app = await startLiveApp(source);
  entry.expiresInMs = 3_600_000;
  next();
  announce();
  await until(() => app.rules.follower?.version === 2, 'the new version');
  const changed = jest.spyOn(app.app.get(RuleTable), 'change');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(changed).not.toHaveBeenCalled();
  expect(await limitOf(app)).toBe(3);
  const { until: end } = app.app.get(RuleTable).changes.get('login')!.layer!;
  expect(end - performance.now()).toBeGreaterThan(3_000_000);
});

it('each exception is checked, also if the source has several of one subject', async () => {
  const entries: object[] = [
    { rule: 'login', subject: '10.0.0.7', fields: { limit: -1 } },
    { rule: 'login', subject: '::ffff:10.0.0.7', fields: { limit: 7 } },
  ];
  const { source, announce, next } = ownSource(entries);
  const app = await startLiveApp(source);
  expect(await limitOf(app, '10.0.0.7')).toBe(7);
  expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
  entries.splice(1);
  next();
  announce();
  await until(async () => (await limitOf(app, '10.0.0.7')) === 10, 'the end of the exception');
  expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
});

it('a change that does not fit is logged once, whatever the order of the entries and other changes', async () => {
  const bad = [1, 2].map((nth) => ({ rule: 'login', subject: `10.0.0.${nth}`, fields: { limit: -nth } }));
  const other = { rule: 'search', fields: { limit: 30 } };
  const entries: object[] = [...bad, other];
  const { source, announce, next } = ownSource(entries);
  const app = await startLiveApp(source);
  for (let limit = 31; limit < 34; limit += 1) {
    other.fields.limit = limit;
    entries.reverse();
    next();
    announce();
    await until(
      async () => String(await app.policyOf('/search')).includes(`"search";q=${limit};`),
      'the change',
    );
  }
  const lines = app.logs.ours().filter(({ message }) => message.includes('RL_LIVE_RULE_REJECTED'));
  expect(lines).toHaveLength(1);
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
