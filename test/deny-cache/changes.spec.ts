import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { askServer } from '../support/redis/ask-server.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

const rule = { name: 'mail', algorithm: 'gcra', limit: 2, window: '1h', block: 'manual' } as const;

describe.each(['', 'app:'])('a deny cache with the key prefix "%s", while another process', (keyPrefix) => {
  const time = new VirtualTime();
  let server: RedisServer;
  let stores: RedisStore[];
  let here: RateLimiter;
  let there: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    const { host, port } = server;
    const options = { redis: { host, port, keyPrefix }, clock: time.clock };
    stores = [await openRedisStore(options), await openRedisStore(options)];
    const prefix = uniquePrefix();
    [here, there] = stores.map((store) => new RateLimiter({ store, prefix })) as [RateLimiter, RateLimiter];
  });

  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.stop();
  });

  const ask = (asked: Rule = rule) => here.consume(asked, 'ann');
  const untilCached = () => until(async () => (await ask()).source === 'cache', 'a denial from the cache');
  const untilAllowed = () => until(async () => (await ask()).allowed, 'the change to arrive');

  it('a deny cache allows requests at once after another process refunds permits', async () => {
    const decision = await there.consume(rule, 'ann', { cost: 2 });
    await untilCached();
    await there.refund(decision);
    await untilAllowed();
  });

  it('a deny cache receives a refund of a counter that denied while the server was out of memory', async () => {
    const decisions = [
      await there.consume(rule, 'ann', { cost: 2 }),
      await there.consume(rule, 'bob', { cost: 2 }),
    ] as const;
    await until(async () => (await here.consume(rule, 'bob')).source === 'cache', 'a subscription');
    await askServer(server, 'CONFIG', 'SET', 'maxmemory', '1');
    expect(await ask()).toMatchObject({ allowed: false, source: 'redis' });
    expect(await ask()).toMatchObject({ allowed: false, source: 'cache' });
    await there.refund(decisions[0]);
    await askServer(server, 'CONFIG', 'SET', 'maxmemory', '0');
    await untilAllowed();
  });

  it('a deny cache starts with a fresh counter after another process resets it', async () => {
    await there.consume(rule, 'ann', { cost: 2 });
    await untilCached();
    await there.reset(rule, 'ann');
    await untilAllowed();
  });

  it('a deny cache reports the end of a block that another process starts', async () => {
    await there.consume(rule, 'ann', { cost: 2 });
    await untilCached();
    await there.block(rule, 'ann', '1d');
    await until(async () => (await ask()).retryAfterMs === 86_400_000, 'the block to arrive');
  });

  it('a deny cache forgets the denials of a block that another process ends', async () => {
    await there.block(rule, 'ann', '1d');
    await untilCached();
    expect(await there.unblock(rule, 'ann')).toBe(true);
    await untilAllowed();
  });

  it('a deny cache sends a request to Redis after the limit is raised', async () => {
    await ask();
    await ask();
    await untilCached();
    expect(await ask({ ...rule, burst: 3 })).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('a deny cache keeps a denial for at most one second after a key is deleted by hand', async () => {
    await there.consume(rule, 'ann', { cost: 2 });
    await untilCached();
    time.advance(1000);
    expect(await ask()).toMatchObject({ allowed: false, source: 'redis' });
    expect(await ask()).toMatchObject({ allowed: false, source: 'cache' });
  });

  it('a deny cache returns no cached denial while changes cannot be received', async () => {
    await there.consume(rule, 'ann', { cost: 2 });
    await untilCached();
    await server.restart();
    await until(async () => (await ask()).source === 'redis', 'Redis to be asked again');
    expect(await here.peek(rule, 'ann')).toMatchObject({ allowed: true });
  });
});
