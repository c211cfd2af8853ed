import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startLiveApp } from './live-app.js';

const BY = { by: 'ops' };

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('live rules in Redis that another program has written', () => {
  let redis: Redis;
  let key: string;

  beforeEach(() => {
    redis = new Redis(redisUrl());
    key = uniquePrefix();
  });

  afterEach(async () => {
    await closeApps();
    redis.disconnect();
  });

  const hash = () => `{${key}}`;
  const start = () => startLiveApp(new RedisRuleSource({ redis: redisUrl(), key }));

  it.each([
    ['of an unknown rule', 'old', 'garbage'],
    ['with JSON that ends too soon', 'old', '1 0 0 - {"fields":'],
    ['with JSON of nothing', 'old', '1 0 0 - null'],
    ['for a subject that is no JSON', 'login\nbob', '1 0 0 - {"fields":"deny"}'],
    ['for a subject in another form of JSON', 'login\n ["bob"]', '1 0 0 - {"fields":"deny"}'],
    ['nested a hundred thousand times', 'login', `1 0 0 - {"fields":{"trial":${nested(100_000)}}}`],
    ['nested a thousand times', 'login\n"203.0.113.7"', `1 0 0 - {"fields":{"trial":${nested(1000)}}}`],
    ['for a subject nested ten thousand times', `login\n${nested(10_000)}`, '1 0 0 - {"fields":"deny"}'],
    ['for a subject of 300 kB', `login\n"${'x'.repeat(300_000)}"`, '1 0 0 - {"fields":"deny"}'],
    ['of 300 kB', 'search', `1 0 0 - {"fields":{"limit":"${'0'.repeat(300_000)}3"}}`],
    ['of a rule whose name has 300 kB', 'r'.repeat(300_000), '1 0 0 - {"fields":{"limit":3}}'],
  ])('an unreadable entry %s is rejected alone, and changes apply', async (_, field, text) => {
    await redis.hset(hash(), field, text);
    const app = await start();
    expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
    await app.rules.set('login', { limit: 3 }, BY);
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    const other = await start();
    expect(await other.policyOf('/login')).toContain('"login";q=3;');
    const lines = app.logs.ours().filter(({ message }) => message.includes('RL_LIVE_RULE_REJECTED'));
    expect(lines.map(({ message }) => message.length < 1000)).toEqual([true]);
    expect((await app.rules.get('login'))!.fields).toEqual({ limit: 3 });
    await redis.hdel(hash(), field);
    await app.rules.accept(BY); // What another program writes over the rules in force is a loss.
    await app.rules.set('login', { limit: 4 }, BY);
    expect(await app.codes()).toEqual([]);
  });

  it.each(['garbage', '1 x 0 - {}', 'nan nan nan nan nan'])(
    'a change replaces an unreadable entry of its rule, or removes it: %s',
    async (text) => {
      await redis.hset(hash(), 'login', text, 'login\n"bob"', text);
      const app = await start();
      expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
      expect(await app.policyOf('/login')).toContain('"login";q=10;');
      await app.rules.set('login', { limit: 3 }, { ...BY, version: 0 });
      expect(await app.policyOf('/login')).toContain('"login";q=3;');
      await app.rules.unsetException('login', 'bob', BY);
      expect(await app.codes()).toEqual([]);
      await redis.hset(hash(), 'login', text);
      await app.rules.accept(BY); // What another program writes over the rules in force is a loss.
      await app.rules.unset('login', BY);
      expect(await redis.hgetall(hash())).toEqual({});
      expect(await app.policyOf('/login')).toContain('"login";q=10;');
    },
  );

  it('the last change stays in force when its entry becomes unreadable, also for a new exception', async () => {
    const app = await start();
    await app.rules.set('login', { limit: 3 }, BY);
    await redis.hset(hash(), 'login', 'garbage');
    await app.rules.accept(BY); // What another program writes over the rules in force is a loss.
    await app.rules.setException('login', '203.0.113.7', { limit: 5 }, BY);
    expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
  });

  it.each(['garbage', 'nan', '9007199254740992', '9'.repeat(40)])(
    'versions grow again after the version is overwritten with %s',
    async (version) => {
      const [one, other] = [await start(), await start()];
      const before = await one.rules.set('login', { limit: 3 }, BY);
      await redis.set(`${hash()}:version`, version);
      await one.rules.accept(BY);
      for (const limit of [4, 5]) {
        const after = await one.rules.set('login', { limit }, BY);
        expect(after).toBeGreaterThan(before);
        expect(Number.isSafeInteger(after)).toBe(true);
        await until(async () => (await other.policyOf('/login'))!.includes(`q=${limit};`), 'the change');
      }
    },
  );

  it('the history omits records that cannot be read', async () => {
    const app = await start();
    await app.rules.set('login', { limit: 3 }, BY);
    const deep = `1 1 {"rule":"login","fields":{"trial":${nested(100_000)}}}`;
    await redis.lpush(`${hash()}:history`, 'garbage', '1 1 null', '1 1 {', deep);
    expect((await app.rules.history()).map(({ rule }) => rule)).toEqual(['login']);
  });
});
