import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import type { Rule } from '../../lib/index.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';

const RULE: Rule = { name: 'many', window: '1h', limit: 1000, algorithm: 'gcra' };
const SUBJECTS = Array.from({ length: 60 }, (_, nth) => `user-${nth}`);

/** Returns the numbers of calls in the writes to sockets, as they happen. */
function watchWrites(): number[] {
  const writes: number[] = [];
  const note = (...chunks: readonly unknown[]) => {
    const calls = chunks.filter((chunk) => String(chunk).includes('\r\nevalsha\r\n')).length;
    if (calls > 0) writes.push(calls);
  };
  const { _write: write, _writev: writev } = Socket.prototype;
  jest.spyOn(Socket.prototype, '_write').mockImplementation(function (this: Socket, chunk: unknown, ...rest) {
    note(chunk);
    write.call(this, chunk, ...rest);
  });
  jest.spyOn(Socket.prototype, '_writev').mockImplementation(function (this: Socket, chunks, ...rest) {
    note(...chunks.map(({ chunk }) => chunk as unknown));
    writev!.call(this, chunks, ...rest);
  });
  return writes;
}

describe('decisions for many subjects in one turn on a Redis Cluster without functions', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => cluster.close());

  it('reach each server in one write, because each write is a system call', async () => {
    const client = new Cluster(cluster.startNodes);
    const store = await RedisStore.open({ redis: client, timeout: 10_000, functions: false });
    const limiter = new RateLimiter({ store });
    const decideAll = () => Promise.all(SUBJECTS.map((subject) => limiter.consume(RULE, subject)));
    await decideAll(); // loads the script
    const writes = watchWrites();
    const decisions = await decideAll();
    expect(decisions.map(({ source }) => source)).toEqual(SUBJECTS.map(() => 'redis'));
    expect(writes).toHaveLength(3);
    expect(writes.reduce((sum, calls) => sum + calls)).toBe(SUBJECTS.length);
    await limiter.close();
    await store.close();
    client.disconnect();
  });
});
