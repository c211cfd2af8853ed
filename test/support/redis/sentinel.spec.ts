import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { askServer } from './ask-server.js';
import { startSentinel, type SentinelGroup } from './sentinel.js';

describe("a spec's own sentinels", () => {
  let group: SentinelGroup;
  let redis: Redis;

  beforeAll(async () => {
    group = await startSentinel();
    redis = new Redis({ ...group.options, maxRetriesPerRequest: null });
    redis.on('error', () => undefined); // No server replies until the failover is complete.
  });

  afterAll(async () => {
    redis.disconnect();
    await group.close();
  });

  it('sentinels of a spec lead a client to the master, whose replicas receive its writes', async () => {
    await redis.set('key', 'value');
    expect(await redis.wait(2, 5000)).toBe(2);
    expect((await group.master()).port).toBe(group.servers[0]!.port);
  });

  it('sentinels of a spec replace a killed master and lead the client to the new one', async () => {
    const old = await group.killMaster();
    const master = await group.untilReplaced(old);
    expect(master.port).not.toBe(old.port);
    expect(await redis.get('key')).toBe('value');
    await redis.set('key', 'another');
    expect(await askServer(master, 'GET', 'key')).toBe('another');
  });
});
