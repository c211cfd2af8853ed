import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { askServer } from '../support/redis/ask-server.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

/** A third of its lease is longer than any test, so only the check of the queue lets a waiting hold ask again. */
const rule: ConcurrencyRule = { name: 'reports', algorithm: 'concurrency', limit: 1, lease: '1h' };
const hourly: Rule = { name: 'hourly', algorithm: 'gcra', window: '1h', limit: 1 };
const LONG = 600_000;
const RIGHTS = ['reset', 'on', '>pw', '~*', '&*', '+@all'];

describe('holds that wait while their turns are not reported', () => {
  let server: RedisServer;
  const opened: { close: () => Promise<void> }[] = [];

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });
  afterAll(() => server.stop());

  const user = (...rights: string[]) => askServer(server, 'ACL', 'SETUSER', 'limiter', ...RIGHTS, ...rights);

  async function open(prefix: string) {
    const redis = `redis://limiter:pw@127.0.0.1:${server.port}`;
    const store = new RedisStore({ redis, timeout: 10_000, connectTimeout: 30_000 });
    const refusals: string[] = [];
    store.watchRefusals(({ message }) => refusals.push(message));
    const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    opened.push(limiter, store);
    const isTrusted = (): boolean => store.isFollowed({ key: `${prefix}{ann}:x` } as never);
    return { store, limiter, refusals, isTrusted };
  }

  interface Loss {
    readonly name: string;
    /** Rights that are missing from the start on. */
    readonly without?: readonly string[];
    /** What happens while all wait. */
    readonly happens?: (prefix: string) => Promise<unknown>;
  }

  const LOSSES: readonly Loss[] = [
    { name: 'a user who may not publish', without: ['-publish'] },
    { name: 'a user who may not subscribe', without: ['-subscribe'] },
    { name: 'a user without the channels', without: ['resetchannels'] },
    { name: 'a right to publish that is revoked while they wait', happens: () => user('-publish') },
    { name: 'FLUSHALL', happens: () => askServer(server, 'FLUSHALL') },
    {
      name: 'a counter that is deleted by hand',
      happens: (prefix) => askServer(server, 'DEL', `${prefix}{ann}:reports:concurrency2`),
    },
  ];

  it.each(LOSSES)(
    'get permits that are released, despite $name',
    async ({ without = [], happens }) => {
      await user(...without);
      const prefix = uniquePrefix();
      const [one, other] = [await open(prefix), await open(prefix)];
      const held = await one.limiter.hold(rule, 'ann');
      expect(held).toMatchObject({ allowed: true });
      const served: string[] = [];
      const waits = [one, other, other, one].map(async ({ limiter }, nth) => {
        const permit = await limiter.hold(rule, 'ann', { maxWait: `${LONG}ms` });
        served.push(`${nth} ${permit.allowed} ${permit.decision.source}`);
        await permit.release();
      });
      const places = async () =>
        Number(await askServer(server, 'ZCARD', `${prefix}{ann}:reports:concurrency2`)) - 2;
      await until(async () => (await places()) === 2 * waits.length, 'all to wait');
      if (without.length === 0)
        await until(() => one.isTrusted() && other.isTrusted(), 'both to be subscribed');
      await happens?.(prefix);
      await held.release();
      await Promise.all(waits);
      expect(served.sort()).toEqual(waits.map((_, nth) => `${nth} true redis`));
      await until(
        async () => (await one.limiter.peek(rule, 'ann', { cost: 0 })).remaining === 1,
        'all to be released',
      );
    },
    60_000,
  );

  it('trusts no channel on which it may not publish, until the right is granted', async () => {
    await user('-publish');
    const { limiter, store, refusals, isTrusted } = await open(uniquePrefix());
    await limiter.ready();
    expect(refusals).toEqual(
      Array(2).fill(expect.stringMatching(/does not permit the command PUBLISH \(NOPERM\)/)),
    );
    await limiter.consume(hourly, 'ann');
    await limiter.consume(hourly, 'ann');
    await until(() => refusals.length > 2, 'the subscription to be tried');
    expect(isTrusted()).toBe(false);
    expect((await limiter.consume(hourly, 'ann')).source).toBe('redis');
    await user();
    await until(isTrusted, 'the channel to be trusted');
    await limiter.consume(hourly, 'ann');
    expect(await limiter.consume(hourly, 'ann')).toMatchObject({ allowed: false, source: 'cache' });
    await store.ready();
  });
});
