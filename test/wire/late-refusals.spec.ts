import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { askServer } from '../support/redis/ask-server.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const RULE: Rule = { window: '1h', limit: 10, algorithm: 'fixed-window' };

describe('a refund with a reply after the deadline', () => {
  let server: RedisServer;
  let patientStore: RedisStore;
  let hastyStore: RedisStore;
  let patient: RateLimiter;
  let hasty: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    const prefix = uniquePrefix();
    patientStore = await openRedisStore({ redis: server.url });
    patient = new RateLimiter({ store: patientStore, prefix });
    hastyStore = new RedisStore({ redis: server.url, timeout: 50 });
    hasty = new RateLimiter({ store: hastyStore, prefix });
    await until(
      async () => (await hasty.peek(RULE, 'ann')).source === 'redis',
      'the hasty one to be connected',
    );
  });

  afterEach(async () => {
    await Promise.all([hasty.close(), patient.close()]);
    await Promise.all([hastyStore.close(), patientStore.close()]);
    await server.stop();
  });

  const remaining = async () => (await patient.peek(RULE, 'ann', { cost: 0 })).remaining;

  /** Has one limiter refund a charge of the other, with a reply that arrives after the deadline. */
  async function refundLate(maxmemory: string) {
    const decision = await patient.consume(RULE, 'ann', { cost: 4 });
    expect([decision.source, decision.remaining]).toEqual(['redis', 6]);
    await askServer(server, 'CONFIG', 'SET', 'maxmemory', maxmemory);
    await server.pause();
    expect(await hasty.refund(decision)).toBe(false);
    await server.resume();
  }

  it('a refund is repeated if the server had no memory for it', async () => {
    await refundLate('1');
    // A function is refused whole, and its late reply is not followed by another call; a script refunds all the same.
    expect(await remaining()).toBe(hasFunctions ? 6 : 10);
    await askServer(server, 'CONFIG', 'SET', 'maxmemory', '0');
    await until(async () => (await remaining()) === 10, 'the permits to be given back');
  });

  it('a refund is not repeated if the server has made it', async () => {
    await refundLate('0');
    await until(async () => (await remaining()) === 10, 'the permits to be given back');
    await patient.consume(RULE, 'ann', { cost: 4 });
    await hasty.close();
    await hastyStore.close(); // Waiting refunds are tried once more.
    expect(await remaining()).toBe(6);
  });

  it.each(['-@all', 'resetkeys'])(
    'a refund is repeated if the user had no right to make it: %s',
    async (revoked) => {
      await askServer(server, 'ACL', 'SETUSER', 'app', 'on', '>s3cret', '~*', '&*', '+@all');
      const { host, port } = server;
      const store = await openRedisStore({ redis: { host, port, username: 'app', password: 's3cret' } });
      const limiter = new RateLimiter({ store, prefix: patient.engine.keys.prefix });
      try {
        const charges = await Promise.all(Array.from({ length: 5 }, () => patient.consume(RULE, 'ann')));
        expect((await limiter.peek(RULE, 'ann')).source).toBe('redis');
        await askServer(server, 'ACL', 'SETUSER', 'app', revoked);
        await Promise.all(charges.map((charge) => limiter.refund(charge)));
        expect(await remaining()).toBe(5);
        await askServer(server, 'ACL', 'SETUSER', 'app', '~*', '+@all');
        await until(async () => (await remaining()) === 10, 'the permits to be given back', 20_000);
      } finally {
        await limiter.close();
        await store.close();
      }
    },
  );
});

describe('a refund of a process whose clock is ahead of the server', () => {
  it('is retried until its charge has expired in the time of the server', async () => {
    const rule: Rule = { ...RULE, algorithm: 'gcra' };
    const realNow = Date.now.bind(Date);
    const ahead = jest.spyOn(Date, 'now').mockImplementation(() => realNow() + 7_200_000);
    const server = await startRedisServer();
    const store = new RedisStore({ redis: server.url, timeout: 500 });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    try {
      await limiter.ready();
      await until(
        async () => String(await askServer(server, 'KEYS', '*instances*')) !== '',
        'the first heartbeat',
      );
      const decision = await limiter.consume(rule, 'ann', { cost: 4 });
      expect([decision.source, decision.remaining]).toEqual(['redis', 6]);
      let isOpen = false;
      limiter.events.on('breaker', ({ state }) => (isOpen = state === 'open'));
      await server.pause();
      await until(async () => (await limiter.consume(RULE, 'ben')) && isOpen, 'the breaker to open');
      expect(await limiter.refund(decision)).toBe(false);
      await server.resume();
      await until(async () => {
        const { source, remaining } = await limiter.peek(rule, 'ann', { cost: 0 });
        return source === 'redis' && remaining === 10;
      }, 'the permits to be given back');
    } finally {
      await limiter.close();
      await store.close();
      await server.stop();
      ahead.mockRestore();
    }
  });
});
