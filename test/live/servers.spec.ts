import { Cluster, Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { RuleChange } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { startSentinel } from '../support/redis/sentinel.js';
import { until } from '../support/redis/until.mjs';
import { textOf } from '../readme/code-blocks.js';
import { startLiveApp } from './live-app.js';

const login = (limit: number): RuleChange => ({ rule: 'login', fields: { limit }, by: 'ops@example.com' });

const closers: (() => unknown)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closers.splice(0).reverse()) await close();
});

describe('live rules on servers that fail', () => {
  it('a restart of Redis with AOF loses nothing, and the rules stay in force meanwhile', async () => {
    const server = await startRedisServer({ config: ['appendonly yes', 'appendfsync always'] });
    closers.push(() => server.stop());
    const app = await startLiveApp(new RedisRuleSource({ redis: server.url }));
    await app.rules.set('login', { limit: 3 }, { by: 'ops' });
    await server.kill();
    await until(async () => (await app.codes()).includes('RL_LIVE_RULES_UNREAD'), 'the warning');
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    await server.restart();
    await until(async () => (await app.codes()).length === 0, 'the source to be read again');
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    expect(await app.rules.history()).toHaveLength(1);
    await app.rules.set('login', { limit: 4 }, { by: 'ops' });
    expect(await app.policyOf('/login')).toContain('"login";q=4;');
  }, 60_000);

  it('a restart of Redis without persistence removes the live rules, and the rules in the code apply', async () => {
    const server = await startRedisServer();
    closers.push(() => server.stop());
    const app = await startLiveApp(new RedisRuleSource({ redis: server.url }));
    await app.rules.set('login', { limit: 3 }, { by: 'ops' });
    await server.kill();
    await server.restart();
    await until(
      async () => (await app.policyOf('/login'))!.includes('"login";q=10;'),
      'the rule in the code',
    );
  }, 60_000);

  it('a user of Redis needs the rights that docs/live-rules.md lists, and no others', async () => {
    const server = await startRedisServer();
    const admin = new Redis(server.url);
    closers.push(
      () => server.stop(),
      () => admin.disconnect(),
    );
    const [, rights] = /needs these rights.*: `([^`]+)`/.exec(textOf('docs/live-rules.md'))!;
    await admin.call(
      'ACL',
      'SETUSER',
      'rules',
      'on',
      '>secret',
      'resetchannels',
      '-@all',
      ...rights!.split(' '),
    );
    const url = server.url.replace('redis://', 'redis://rules:secret@');
    const source = new RedisRuleSource({ redis: url });
    const other = new RedisRuleSource({ redis: url });
    closers.push(
      () => source.close(),
      () => other.close(),
    );
    let calls = 0;
    const stop = other.watch(() => (calls += 1));
    await other.load();
    await source.write({ ...login(3), expiresInMs: 1 });
    for (let index = 0; index < 1000; index += 1) await source.write({ ...login(3), subject: index });
    await until(() => calls > 0, 'the call');
    stop();
    expect((await other.load()).entries).toHaveLength(1000);
    await source.write({ rule: 'login', fields: undefined, by: 'ops' });
    expect(await other.history(5)).toHaveLength(5);
    const denied = (await admin.call('ACL', 'LOG')) as string[][];
    expect(denied.map((entry) => entry[entry.indexOf('object') + 1])).toEqual([]);
  }, 60_000);

  it('a Cluster holds live rules, whether it is a URL of a node or a client', async () => {
    const cluster = await startCluster({ replicas: false });
    const client = new Cluster(cluster.startNodes);
    closers.push(
      () => cluster.close(),
      () => client.disconnect(),
    );
    for (const node of cluster.nodes) {
      const source = new RedisRuleSource({ redis: node.url });
      const other = new RedisRuleSource({ redis: client });
      closers.push(
        () => source.close(),
        () => other.close(),
      );
      let calls = 0;
      const stop = other.watch(() => (calls += 1));
      const version = await source.write({ ...login(node.port), expiresInMs: 60_000 });
      await until(() => calls > 0, 'the call');
      stop();
      expect((await other.load()).entries).toEqual([
        expect.objectContaining({ version, fields: { limit: node.port } }),
      ]);
    }
  }, 60_000);

  it('a Sentinel leads to the next master, which has the live rules of its replica', async () => {
    const group = await startSentinel();
    const source = new RedisRuleSource({ redis: group.options });
    closers.push(
      () => group.close(),
      () => source.close(),
    );
    const version = await source.write(login(3));
    const replicas = group.servers.slice(1);
    await until(async () => (await source.load()).version === String(version), 'the change');
    expect(replicas).toHaveLength(2);
    await new Promise((resolve) => setTimeout(resolve, 500)); // Replication is asynchronous.
    await group.untilReplaced(await group.killMaster());
    const loaded = () =>
      source.load().then(
        ({ entries }) => entries,
        () => [],
      );
    await until(async () => (await loaded()).length === 1, 'the next master', 30_000);
    expect(await source.write(login(4))).toBeGreaterThan(version);
  }, 90_000);
});
