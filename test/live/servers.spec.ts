import { Cluster, Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { RuleChange } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { askInfo } from '../support/redis/ask-server.js';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
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

/** Makes a change until it is confirmed: on a busy machine, that may take longer than a change waits. */
async function confirmed(change: () => Promise<number>): Promise<number> {
  let version: number | undefined;
  await until(
    async () => (version = await change().catch(() => undefined)) !== undefined,
    'the change',
    30_000,
  );
  return version!;
}

/** Waits until a master counts its replicas as online, which is after they are in sync. */
async function untilOnline(master: RedisServer, replicas: number): Promise<void> {
  const isOnline = async () => {
    const info = [...(await askInfo(master, 'INFO', 'replication')).values()].join();
    return info.split('state=online').length === replicas + 1;
  };
  await until(isOnline, 'the replicas to be online', 30_000);
}

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

  it('a restart of Redis without persistence removes the live rules, which stay in force until that is accepted', async () => {
    const server = await startRedisServer();
    closers.push(() => server.stop());
    const app = await startLiveApp(new RedisRuleSource({ redis: server.url }));
    await app.rules.set('login', { limit: 3 }, { by: 'ops' });
    await server.kill();
    await server.restart();
    await until(() => app.rules.loss !== undefined, 'the loss');
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    await app.rules.accept({ by: 'ops' });
    expect(await app.policyOf('/login')).toContain('"login";q=10;');
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
    for (let index = 0; index < 1000; index += 1)
      await confirmed(() => source.write({ ...login(3), subject: index }));
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
    await untilOnline(group.servers[0]!, 2);
    const version = await confirmed(() => source.write(login(3)));
    await group.untilReplaced(await group.killMaster());
    const loaded = () =>
      source.load().then(
        ({ entries }) => entries,
        () => [],
      );
    await until(async () => (await loaded()).length === 1, 'the next master', 30_000);
    expect(await confirmed(() => source.write(login(4)))).toBeGreaterThan(version);
  }, 90_000);

  it('an application keeps its live rules while a Sentinel replaces the master, and can change them after that', async () => {
    const group = await startSentinel();
    closers.push(() => group.close());
    await untilOnline(group.servers[0]!, 2);
    const [one, other] = [
      await startLiveApp(new RedisRuleSource({ redis: group.options })),
      await startLiveApp(new RedisRuleSource({ redis: group.options })),
    ];
    await confirmed(() => one.rules.set('login', { limit: 3 }, { by: 'ops' }));
    const lost = await group.killMaster();
    await until(async () => (await one.codes()).includes('RL_LIVE_RULES_UNREAD'), 'the warning');
    expect(await one.policyOf('/login')).toContain('"login";q=3;');
    await group.untilReplaced(lost);
    await until(async () => (await one.codes()).length === 0, 'the next master', 30_000);
    expect(await one.policyOf('/login')).toContain('"login";q=3;');
    await confirmed(() => one.rules.set('login', { limit: 4 }, { by: 'ops' }));
    await until(async () => (await other.policyOf('/login'))!.includes('q=4;'), 'the other process', 30_000);
    expect((await one.rules.history()).at(-1)).toMatchObject({ fields: { limit: 3 } });
  }, 120_000);

  it('an application keeps its live rules while a Cluster replaces their master, and can change them after that', async () => {
    const cluster = await startCluster();
    closers.push(() => cluster.close());
    const redis = cluster.nodes[0]!.url;
    const [one, other] = [
      await startLiveApp(new RedisRuleSource({ redis })),
      await startLiveApp(new RedisRuleSource({ redis })),
    ];
    const owner = await cluster.ownerOf(await cluster.slotOf('{rl:rules}'));
    await untilOnline(owner, 1);
    await confirmed(() => one.rules.set('login', { limit: 3 }, { by: 'ops' }));
    await owner.kill();
    await until(async () => (await one.codes()).includes('RL_LIVE_RULES_UNREAD'), 'the warning');
    expect(await one.policyOf('/login')).toContain('"login";q=3;');
    await cluster.untilReplaced(owner);
    await until(async () => (await one.codes()).length === 0, 'the next master', 30_000);
    expect(await one.policyOf('/login')).toContain('"login";q=3;');
    await confirmed(() => one.rules.set('login', { limit: 4 }, { by: 'ops' }));
    await until(async () => (await other.policyOf('/login'))!.includes('q=4;'), 'the other process', 30_000);
    expect((await one.rules.history()).at(-1)).toMatchObject({ fields: { limit: 3 } });
  }, 120_000);

  it('a change that no replica has confirmed is reported to its author with its version', async () => {
    const master = await startRedisServer();
    const replica = await startRedisServer({ replicaOf: master });
    closers.push(
      () => master.stop(),
      () => replica.stop(),
    );
    await untilOnline(master, 1);
    const app = await startLiveApp(new RedisRuleSource({ redis: master.url }));
    const version = await confirmed(() => app.rules.set('login', { limit: 3 }, { by: 'ops' }));
    await replica.pause();
    await expect(app.rules.set('login', { limit: 4 }, { by: 'ops' })).rejects.toThrow(
      /the change of rule "login" applies as version \d+, but none of 1 replicas has confirmed it within 700 ms/,
    );
    const now = await app.rules.get('login');
    expect(now).toMatchObject({ fields: { limit: 4 } });
    expect(now!.version).toBeGreaterThan(version);
    await replica.resume();
    await confirmed(() => app.rules.set('login', { limit: 5 }, { by: 'ops' }));
  }, 60_000);

  it('a change in a Cluster waits for a replica of the master that holds the rules', async () => {
    const cluster = await startCluster();
    const source = new RedisRuleSource({ redis: cluster.nodes[0]!.url });
    closers.push(
      () => cluster.close(),
      () => source.close(),
    );
    const owner = await cluster.ownerOf(await cluster.slotOf('{rl:rules}'));
    await untilOnline(owner, 1);
    await confirmed(() => source.write(login(3)));
    const replica = cluster.nodes[cluster.nodes.indexOf(owner) + 3]!;
    await replica.pause();
    await expect(source.write(login(4))).rejects.toThrow('none of 1 replicas has confirmed it');
    await replica.resume();
    await confirmed(() => source.write(login(5)));
  }, 60_000);
});
