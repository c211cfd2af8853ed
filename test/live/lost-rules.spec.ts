import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitConflictError, RateLimitHealth } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { startLiveApp, type LiveApp } from './live-app.js';

const BY = { by: 'ops@example.com' };

const closers: (() => unknown)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closers.splice(0).reverse()) await close();
});

async function startServer(...config: string[]) {
  const server = await startRedisServer({ config });
  const redis = new Redis(server.url);
  closers.push(
    () => server.stop(),
    () => redis.disconnect(),
  );
  const start = () => startLiveApp(new RedisRuleSource({ redis: server.url }));
  return { server, redis, start };
}

const untilLost = (app: LiveApp) => until(() => app.rules.loss !== undefined, 'the loss');
const untilWhole = (app: LiveApp) => until(() => app.rules.loss === undefined, 'the end of the loss');

async function expectLimit(app: LiveApp, limit: number) {
  await until(async () => (await app.policyOf('/login'))!.includes(`"login";q=${limit};`), `limit ${limit}`);
}

async function healthOf({ app }: LiveApp) {
  const { status, degraded, reason, warnings } = (await app.get(RateLimitHealth).isHealthy()).rateLimit;
  return { status, degraded, reason, warnings };
}

describe('live rules that Redis has lost', () => {
  it.each(['FLUSHALL', 'FLUSHDB', 'SWAPDB 0 1', 'DEL {rl:rules}', 'DEL {rl:rules}:version'])(
    'after %s, processes keep the last rules, report the loss and refuse changes until the rules are restored',
    async (command) => {
      const { redis, start } = await startServer();
      const [app, other] = [await start(), await start()];
      await app.rules.set('login', { limit: 3 }, { ...BY, expires: '1h' });
      await expectLimit(other, 3);
      const [name, ...args] = command.split(' ');
      await redis.call(name!, ...args);
      await expect(other.rules.set('login', { limit: 5 }, BY)).rejects.toThrow(RateLimitConflictError);
      for (const each of [app, other]) {
        await untilLost(each);
        await expectLimit(each, 3);
        expect(await healthOf(each)).toEqual({
          status: 'up',
          degraded: true,
          reason: expect.stringMatching(/^live rules were lost: /),
          warnings: ['RL_LIVE_RULES_LOST'],
        });
      }
      await expect(app.rules.unset('login', BY)).rejects.toThrow('rules.restore() or rules.accept()');
      await app.rules.restore({ ...BY, reason: 'flushed by mistake' });
      for (const each of [app, other]) {
        await untilWhole(each);
        expect(await healthOf(each)).toMatchObject({ degraded: false, warnings: [] });
        await expectLimit(each, 3);
      }
      expect(await other.rules.get('login')).toMatchObject({ fields: { limit: 3 }, by: BY.by });
      expect((await other.rules.get('login'))!.expiresInMs).toBeLessThan(3_600_000);
      expect((await app.rules.history())[0]).toMatchObject({
        loss: 'restored',
        reason: 'flushed by mistake',
      });
      await other.rules.set('login', { limit: 5 }, BY);
      await expectLimit(app, 5);
      const lines = other.logs.ours().filter(({ message }) => message.includes('RL_LIVE_RULES_LOST'));
      expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn']); // one line of each process
    },
    60_000,
  );

  it('FLUSHDB of another database loses no live rules', async () => {
    const { server, redis } = await startServer();
    const app = await startLiveApp(new RedisRuleSource({ redis: `${server.url}/3` }));
    await app.rules.set('login', { limit: 3 }, BY);
    await redis.flushdb();
    await app.rules.set('login', { limit: 4 }, BY); // a loss would refuse it
    expect(app.rules.loss).toBeUndefined();
    await redis.select(3);
    await redis.flushdb();
    await untilLost(app);
    await expectLimit(app, 4);
  }, 60_000);

  it('a process that has not read the lost rules yet does not state that no process has them', async () => {
    const { redis, start } = await startServer();
    const [app, other] = [await start(), await start()];
    await app.rules.set('login', { limit: 3 }, BY);
    await redis.flushall();
    await untilLost(app);
    await until(
      async () => (await redis.exists('{rl:rules}:inforce')) === 1,
      'the heartbeat that names the lost rules',
    );
    const restore = () =>
      other.rules.restore(BY).then(
        () => true,
        (error: unknown) => (error as Error).message,
      );
    for (let result = await restore(); result !== true; result = await restore()) {
      expect(result).toBe('live rules: another process has later rules; try again');
    }
    await expectLimit(other, 3);
  }, 60_000);

  it('accept puts in force what Redis holds, in every process', async () => {
    const { redis, start } = await startServer();
    const [app, other] = [await start(), await start()];
    await app.rules.set('login', { limit: 3 }, BY);
    await expectLimit(other, 3);
    await redis.flushall();
    await untilLost(other);
    expect(other.rules.loss).toMatchObject({ stored: [], at: expect.any(Number) });
    await other.rules.accept(BY);
    for (const each of [app, other]) {
      await expectLimit(each, 10);
      await untilWhole(each);
    }
    await expect(app.rules.restore(BY)).rejects.toThrow('no live rules are lost');
    await app.rules.set('login', { limit: 4 }, BY);
    await expectLimit(other, 4);
  }, 60_000);

  it('a change that is lost still ends at its end, and the loss with it', async () => {
    const { redis, start } = await startServer();
    const app = await start();
    await app.rules.set('login', { limit: 3 }, { ...BY, expires: '3s' });
    await redis.flushall();
    await untilLost(app);
    await expectLimit(app, 3);
    await expectLimit(app, 10);
    await untilWhole(app);
    expect(await healthOf(app)).toMatchObject({ degraded: false, warnings: [] });
    await app.rules.set('login', { limit: 4 }, BY);
    await expectLimit(app, 4);
  }, 60_000);

  it('Redis that is flushed after the last live rule has ended, or was removed, has lost none', async () => {
    const { redis, start } = await startServer();
    const [app, other] = [await start(), await start()];
    for (const expires of ['1s', undefined] as const) {
      await app.rules.set('login', { limit: 3 }, { ...BY, ...(expires && { expires }) });
      await expectLimit(other, 3);
      if (!expires) await app.rules.unset('login', BY);
      for (const each of [app, other]) await expectLimit(each, 10);
      await redis.flushall();
      await app.rules.set('login', { limit: 4 }, BY);
      await app.rules.unset('login', BY);
      for (const each of [app, other]) {
        expect(each.rules.loss).toBeUndefined();
        expect(each.logs.ours().filter(({ message }) => message.includes('LOST'))).toEqual([]);
      }
    }
  }, 60_000);

  it('a process that starts after the loss has the last rules, reports it, and can restore them', async () => {
    const { redis, start } = await startServer();
    const app = await start();
    await app.rules.set('login', { limit: 3 }, BY);
    await redis.flushall();
    await untilLost(app);
    const later = await start();
    await untilLost(later);
    await expectLimit(later, 3);
    await app.close();
    await later.rules.restore(BY);
    const last = await start();
    expect(last.rules.loss).toBeUndefined();
    await expectLimit(last, 3);
  }, 60_000);

  it('rules that a new process writes into the emptied Redis do not replace those in force', async () => {
    const { server, redis, start } = await startServer();
    const app = await start();
    await app.rules.set('login', { limit: 3 }, BY);
    const fresh = new RedisRuleSource({ redis: server.url });
    closers.push(() => fresh.close());
    await fresh.history(1); // connected
    await redis.flushall();
    const written = fresh.write({ rule: 'login', fields: { limit: 99 }, ...BY });
    await written.catch((error: unknown) => expect(error).toBeInstanceOf(RateLimitConflictError));
    await untilLost(app);
    await expectLimit(app, 3);
    const later = await start();
    await untilLost(later);
    await expect(later.rules.set('login', { limit: 5 }, BY)).rejects.toThrow(RateLimitConflictError);
    await app.rules.restore(BY);
    await expectLimit(later, 3);
  }, 60_000);

  it('a restart with an older RDB file is a loss, although the file has rules', async () => {
    const { server, redis, start } = await startServer();
    const app = await start();
    await app.rules.set('login', { limit: 5 }, BY);
    await redis.call('SAVE');
    await app.rules.set('login', { limit: 3 }, BY);
    await server.kill();
    await server.restart();
    await untilLost(app);
    await expectLimit(app, 3);
    expect(app.rules.loss!.stored).toMatchObject([{ rule: 'login', fields: { limit: 5 } }]);
    await app.rules.restore(BY);
    const other = await start();
    await expectLimit(other, 3);
  }, 60_000);

  it('eviction by a flood is a loss, and its possibility is reported at start', async () => {
    const { redis, start } = await startServer('maxmemory 5mb', 'maxmemory-policy allkeys-random');
    const app = await start();
    expect(await app.codes()).toEqual(['RL_LIVE_RULES_EVICTED']);
    await app.rules.set('login', { limit: 3 }, BY);
    let nth = 0;
    const flood = async () => {
      const pipeline = redis.pipeline();
      for (let key = 0; key < 1000; key += 1) pipeline.set(`guest-${(nth += 1)}`, 'x'.repeat(200), 'EX', 60);
      await pipeline.exec();
      return app.rules.loss !== undefined;
    };
    await until(flood, 'the loss', 40_000);
    await expectLimit(app, 3);
  }, 60_000);

  it.each([
    ['volatile-lru', 'maxmemory 5mb'],
    ['allkeys-lru', 'maxmemory 0'],
  ])('the policy %s with %s is not reported', async (policy, maxmemory) => {
    const { start } = await startServer(maxmemory, `maxmemory-policy ${policy}`);
    expect(await (await start()).codes()).toEqual([]);
  });

  it('a shard of a Cluster that loses the live rules is a loss', async () => {
    const cluster = await startCluster({ replicas: false });
    closers.push(() => cluster.close());
    const app = await startLiveApp(new RedisRuleSource({ redis: cluster.nodes[0]!.url }));
    await app.rules.set('login', { limit: 3 }, BY);
    const owner = await cluster.ownerOf(await cluster.slotOf('{rl:rules}'));
    const redis = new Redis(owner.url);
    closers.push(() => redis.disconnect());
    await redis.flushall();
    await untilLost(app);
    await app.rules.restore(BY);
    await expectLimit(app, 3);
    expect(app.rules.loss).toBeUndefined();
  }, 60_000);

  it('an empty source without a process is a fresh start, and an own delete is no loss', async () => {
    const { start } = await startServer();
    const [app, other] = [await start(), await start()];
    expect(await app.codes()).toEqual([]);
    await app.rules.set('login', { limit: 3 }, BY);
    await expectLimit(other, 3);
    await app.rules.unset('login', BY);
    await expectLimit(other, 10);
    for (const each of [app, other, await start()]) {
      expect(each.rules.loss).toBeUndefined();
      expect(await each.codes()).toEqual([]);
    }
  }, 60_000);

  it('rules without a version in force that were changed by another program are accepted, and cannot be restored', async () => {
    const { redis, start } = await startServer();
    const app = await start();
    await app.rules.set('login', { limit: 3 }, BY);
    await app.close();
    await redis.del('{rl:rules}:inforce');
    const [value] = await redis.hvals('{rl:rules}');
    await redis.hset('{rl:rules}', 'login', value!.replace('3}', '4}'));
    const later = await start();
    expect(await later.codes()).toEqual(['RL_LIVE_RULES_LOST']);
    await expectLimit(later, 4);
    await expect(later.rules.restore(BY)).rejects.toThrow('no process has the lost rules');
    await later.rules.accept(BY);
    await later.rules.set('login', { limit: 6 }, BY);
    expect(await later.codes()).toEqual([]);
  }, 60_000);
});
