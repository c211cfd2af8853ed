import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { StoreFault, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';

const log: Rule = { name: 'log', limit: 5, window: '1h' };
const blocked: Rule = { name: 'blocked', limit: 5, window: '1h', block: '1m' };

describe('whatever a call to Redis fails by', () => {
  let server: RedisServer;
  let admin: Redis;
  let store: RedisStore;
  let limiter: RateLimiter;
  let errors: unknown[];

  beforeEach(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url);
    admin.on('error', () => undefined);
    store = await RedisStore.open({ redis: server.url });
    limiter = new RateLimiter({ store });
    errors = [];
    for (const method of ['decide', 'adjust'] as const) {
      const original = store[method].bind(store) as (...args: unknown[]) => Promise<unknown>;
      (store as unknown as Record<string, unknown>)[method] = (...args: unknown[]) =>
        original(...args).catch((error: unknown) => {
          errors.push(error);
          throw error;
        });
    }
    limiter.events.on('storeError', ({ error }) => errors.push(error));
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    admin.disconnect();
    await server.stop();
  });

  const FAULTS: Record<string, { code: string; begin: () => Promise<unknown> }> = {
    'a key of another type': {
      code: 'INVALID_STATE',
      begin: () => admin.set('rl:{ann}:log:sliding-window-log2/3600000', 'x'),
    },
    'no memory': { code: 'OOM', begin: () => admin.config('SET', 'maxmemory', '1') },
    'no permission': {
      code: 'NOPERM',
      begin: () => admin.call('ACL', 'SETUSER', 'default', '-get', '-mget', '-lrange', '-lindex', '-llen'),
    },
    'no connection': { code: 'CONNECTION', begin: () => server.kill() },
    'no answer': { code: 'TIMEOUT', begin: () => admin.call('CLIENT', 'PAUSE', '2000') },
    'a store that is closed': { code: 'CLOSED', begin: () => store.close() },
  };

  it.each(Object.keys(FAULTS))('the error is a StoreFault: %s', async (name) => {
    const decision = await limiter.consume([log, blocked], 'ann');
    await FAULTS[name]!.begin();
    for (const rules of [log, [log, blocked]]) await limiter.consume(rules, 'ann');
    await limiter.refund(decision);
    expect(errors.length).toBeGreaterThan(1);
    for (const error of errors) expect(error).toBeInstanceOf(StoreFault);
    expect((errors as StoreFault[]).map(({ code }) => code)).toContain(FAULTS[name]!.code);
  });
});
