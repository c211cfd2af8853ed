import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startProxy, type Proxy } from './proxy.js';
import { redisUrl, uniquePrefix } from './shared-redis.js';
import { until } from './until.mjs';

describe('a proxy in front of Redis', () => {
  let proxy: Proxy;
  let direct: Redis;
  let redis: Redis;
  let key: string;

  beforeAll(() => {
    direct = new Redis(redisUrl());
  });
  afterAll(() => direct.disconnect());

  beforeEach(async () => {
    const { hostname: host, port } = new URL(redisUrl());
    proxy = await startProxy({ host, port: Number(port || 6379) });
    redis = await connected();
    key = `${uniquePrefix()}key`;
  });

  afterEach(async () => {
    await proxy.close(); // The clients stop trying to connect.
    await direct.unlink(key);
  });

  /** Creates a client that does not reconnect. */
  async function connected(): Promise<Redis> {
    const url = new URL(redisUrl());
    [url.hostname, url.port] = [proxy.host, String(proxy.port)];
    const client = new Redis(url.href, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
    client.on('error', () => undefined);
    await client.ping();
    return client;
  }

  const connection = () => proxy.connections[0]!;
  const counted = (count: number) =>
    until(async () => Number(await direct.get(key)) === count, `the count to be ${count}`);

  it('the proxy forwards all data, and counts current and past connections', async () => {
    expect(await redis.incr(key)).toBe(1);
    const other = await connected();
    expect([proxy.connections.length, proxy.accepted]).toEqual([2, 2]);
    other.disconnect();
    await until(() => proxy.connections.length === 1, 'the connection to be gone');
    expect(proxy.accepted).toBe(2);
  });

  it('the proxy delays replies in order, but not commands', async () => {
    connection().delay(50);
    const slow = [redis.incr(key), redis.incr(key)];
    await counted(2);
    connection().delay(0);
    expect(await Promise.all([...slow, redis.incr(key)])).toEqual([1, 2, 3]);
  });

  it('the proxy drops a reply, and the next one takes its place', async () => {
    connection().dropNextReply();
    const first = redis.incr(key);
    await counted(1);
    const second = expect(redis.incr(key)).rejects.toThrow('Connection is closed');
    expect(await first).toBe(2);
    redis.disconnect();
    await second;
  });

  it.each([0, 3])('the proxy cuts a reply after %d bytes, when the command has run', async (bytes) => {
    connection().cutNextReply(bytes);
    await expect(redis.set(key, 1)).rejects.toThrow('Connection is closed');
    await counted(1);
    await until(() => proxy.connections.length === 0, 'the connection to be gone');
  });

  it('the proxy cuts a request, and no command runs', async () => {
    connection().cutNextRequest();
    await expect(redis.incr(key)).rejects.toThrow('Connection is closed');
    await until(() => proxy.connections.length === 0, 'the connection to be gone');
    expect(await direct.exists(key)).toBe(0);
  });

  it('the proxy sends its own bytes', async () => {
    const reason = new Promise((resolve) => redis.once('error', resolve));
    connection().inject('garbage\r\n');
    await expect(reason).resolves.toMatchObject({ message: expect.stringContaining('"g"') });
  });

  it('the proxy holds commands and replies until it releases them', async () => {
    connection().stall();
    const answer = redis.incr(key);
    await direct.ping();
    expect(await direct.exists(key)).toBe(0);
    connection().resume();
    expect(await answer).toBe(1);
  });

  it('the proxy accepts connections without replies until it is changed', async () => {
    proxy.each((each) => each.stall());
    const newcomer = connected();
    await until(() => proxy.accepted === 2, 'the newcomer to be accepted');
    const answer = redis.incr(key);
    proxy.each((each) => each.resume());
    expect(await answer).toBe(1);
    (await newcomer).disconnect();
  });

  it('the proxy resets connections', async () => {
    const reason = new Promise((resolve) => redis.once('error', resolve));
    connection().reset();
    await expect(reason).resolves.toMatchObject({ code: 'ECONNRESET' });
  });
});
