import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { askServer, untilInSync } from './redis/ask-server.js';
import { countCommands } from './redis/command-counts.js';
import { recordCommands } from './redis/record-commands.js';
import { startRedisServer, type RedisServer } from './redis/redis-server.mjs';
import { redisUrl, uniquePrefix } from './redis/shared-redis.js';
import { until } from './redis/until.mjs';

const SET_TWICE = "redis.call('SET', KEYS[1], 1) return redis.call('INCR', KEYS[1])";
const isAlive = (pid: number) => process.kill(pid, 0);

describe('the shared Redis server', () => {
  it('the shared Redis server replies, and no two specs share a key', async () => {
    const redis = new Redis(redisUrl());
    const [mine, other] = [uniquePrefix(), uniquePrefix()];
    await redis.set(`${mine}key`, 'mine', 'PX', 60_000);
    expect(await redis.get(`${mine}key`)).toBe('mine');
    expect(await redis.get(`${other}key`)).toBeNull();
    redis.disconnect();
  });
});

describe("a spec's own Redis server", () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer({ config: ['maxmemory 64mb'] });
    redis = new Redis(server.url);
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it('a Redis server of a spec replies to PING with the given settings', async () => {
    expect(await redis.ping()).toBe('PONG');
    expect(await redis.config('GET', 'maxmemory')).toEqual(['maxmemory', String(64 * 1024 * 1024)]);
  });

  it('a paused Redis server replies only after it is resumed', async () => {
    const hasty = new Redis(server.url, { commandTimeout: 500 });
    await hasty.ping();
    await server.pause();
    await expect(hasty.ping()).rejects.toThrow('Command timed out');
    hasty.disconnect();
    const patient = redis.ping();
    await server.resume();
    expect(await patient).toBe('PONG');
  });

  it('a killed Redis server restarts on the same port', async () => {
    const { url, pid } = server;
    await server.kill();
    expect(() => isAlive(pid)).toThrow('ESRCH');
    await server.restart();
    expect(server.url).toBe(url);
    expect(server.pid).not.toBe(pid);
    expect(await redis.ping()).toBe('PONG');
  });

  it('a stopped Redis server leaves no process and no folder, even if it was paused', async () => {
    const stopped = await startRedisServer();
    expect(existsSync(stopped.folder)).toBe(true);
    await stopped.pause();
    await stopped.stop();
    expect(() => isAlive(stopped.pid)).toThrow('ESRCH');
    expect(existsSync(stopped.folder)).toBe(false);
  });

  it('a Redis server ends with the process that started it, even if that is killed', async () => {
    const module = new URL('./redis/redis-server.mjs', import.meta.url).href;
    const script = `
      const { startRedisServer } = await import(${JSON.stringify(module)});
      const { folder, port } = await startRedisServer();
      console.log(JSON.stringify({ folder, port }));
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const [started] = (await owner.stdout.take(1).toArray()) as [Buffer];
    const { folder, port } = JSON.parse(String(started)) as RedisServer;
    expect(existsSync(folder)).toBe(true);
    owner.kill('SIGKILL');
    await until(() => !existsSync(folder), 'the orphan to be cleaned up');
    // The port becomes free a moment later.
    let heir: RedisServer | undefined;
    const inherits = async () =>
      (heir = await startRedisServer({ port }).catch(() => undefined)) !== undefined;
    await until(inherits, 'the port to be free');
    await heir!.stop();
  });

  it('a Redis server accepts clients with the password that trust its certificate', async () => {
    const guarded = await startRedisServer({ password: 'p@ss "word"', tls: true });
    const { url, ca, host, port } = guarded;
    const known = new Redis(url, { tls: { ca } });
    expect(await known.ping()).toBe('PONG');
    known.disconnect();
    for (const [options, reason] of [
      [{ tls: {} }, 'self-signed certificate'],
      [{ tls: { ca }, password: 'guess' }, 'WRONGPASS'],
    ] as const) {
      const stranger = new Redis({ host, port, ...options, retryStrategy: () => null });
      const error = new Promise((resolve) => stranger.once('error', resolve));
      expect(String(await error)).toContain(reason);
    }
    expect(await askServer(guarded, 'PING')).toBe('PONG');
    await guarded.stop();
  });

  it('a Redis server accepts the users in its settings with their rights', async () => {
    const config = ['user reader on >secret ~* +get'];
    const limited = await startRedisServer({ config });
    const reader = new Redis(limited.url, {
      username: 'reader',
      password: 'secret',
      enableReadyCheck: false,
    });
    expect(await reader.get('key')).toBeNull();
    await expect(reader.set('key', 'value')).rejects.toThrow('NOPERM');
    reader.disconnect();
    await limited.stop();
  });

  it('a Redis server replicates another one', async () => {
    const replica = await startRedisServer({ replicaOf: server });
    await untilInSync(replica);
    await redis.set('replicated', 'value');
    expect(await redis.wait(1, 5000)).toBe(1);
    expect(await askServer(replica, 'GET', 'replicated')).toBe('value');
    await replica.stop();
  });

  it('a Redis server reports why it could not start', async () => {
    await expect(startRedisServer({ config: ['no-such-option 1'] })).rejects.toThrow('no-such-option');
    await expect(startRedisServer({ port: server.port })).rejects.toThrow('Address already in use');
  });

  it('a Redis server lists the commands of clients without those of scripts', async () => {
    const key = `${uniquePrefix()}key`;
    const sha = (await redis.script('LOAD', SET_TWICE)) as string;
    const recorded = await recordCommands(server.url, async () => {
      await redis.evalsha(sha, 1, key);
      await redis.eval(SET_TWICE, 1, key, 'say "hi"');
    });
    expect(recorded).toEqual([
      { name: 'evalsha', args: [sha, '1', key] },
      { name: 'eval', args: [SET_TWICE, '1', key, 'say "hi"'] },
    ]);
  });

  it('a Redis server counts the calls of clients and of scripts', async () => {
    const key = `${uniquePrefix()}key`;
    const counts = await countCommands(redis, async () => {
      await redis.eval(SET_TWICE, 1, key);
      await redis.incr(key);
    });
    expect([...counts].sort()).toEqual([
      ['eval', 1],
      ['incr', 2],
      ['set', 1],
    ]);
  });
});
