import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { LUA_COMMAND } from '../support/redis/lua-calls.js';
import { recordCommands, recordScriptWrites } from '../support/redis/record-commands.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { VirtualTime } from '../support/virtual-store.js';
import type { Allowed } from '../../lib/contracts/algorithm.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { DEFAULT_ALGORITHM } from '../../lib/rules/rule.js';
import { plainRules } from '../support/examples.js';
import { EVERY_RULE, everyRule } from './every-rule.js';
import { STRANGE_SUBJECTS } from './strange-subjects.js';

const HOUR = 3_600_000;
const WEEK = 168 * HOUR;

describe('the traffic with Redis', () => {
  let server: RedisServer;
  let store: RedisStore;
  let limiter: RateLimiter;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url);
    store = await openRedisStore({ redis: server.url });
    limiter = new RateLimiter({ store, onStoreError: 'deny', denyCache: false });
  });

  afterAll(async () => {
    await store.close();
    redis.disconnect();
    await server.stop();
  });

  const every = everyRule({ limit: 5, windowMs: WEEK });
  const log = every.filter(({ algorithm }) => algorithm === DEFAULT_ALGORITHM);

  it.each([
    ['1 rule', every.slice(0, 1)],
    ['1 rule with a state of its own kind', log],
    ['3 rules of three algorithms', every.slice(1, 4)],
    ['a rule of every algorithm', every],
  ])('a request with %s is one call, allowed or denied', async (_, rules) => {
    await limiter.consume(rules, 'bob'); // The Lua is loaded by now.
    for (const allowed of [true, false]) {
      await limiter.reset(rules, 'ann');
      if (!allowed) await limiter.consume(rules, 'ann', { cost: 5 });
      const recorded = await recordCommands(server.url, async () => {
        const decision = await limiter.consume(rules, 'ann');
        expect(decision).toMatchObject({ allowed, source: 'redis' });
      });
      expect(recorded.map(({ name }) => name)).toEqual([LUA_COMMAND]);
      expect(recorded[0]!.args[1]).toBe(String(rules.length));
    }
  });

  it('a peek is one call', async () => {
    const recorded = await recordCommands(server.url, () => limiter.peek(every, 'ann'));
    expect(recorded.map(({ name }) => name)).toEqual([LUA_COMMAND]);
  });

  it('the Lua is the same for every subject, so no subject becomes code', async () => {
    await redis.set('untouched', 'by FLUSHALL');
    await limiter.consume(every, 'ann');
    const recorded = await recordCommands(server.url, async () => {
      for (const [, subject] of STRANGE_SUBJECTS) await limiter.consume(every, subject);
    });
    expect(new Set(recorded.map(({ name, args }) => `${name} ${args[0]}`)).size).toBe(1);
    expect(recorded).toHaveLength(STRANGE_SUBJECTS.length);
    expect(await redis.get('untouched')).toBe('by FLUSHALL');
  });

  it.each(EVERY_RULE)(
    'a key lives as long as its state matters, rounded up, plus a millisecond and an hour: $name',
    async (rule) => {
      const time = new VirtualTime();
      time.advance(2500.1);
      const inVirtualTime = await openRedisStore({ redis: server.url, clock: time.clock });
      const virtual = new RateLimiter({ store: inVirtualTime, prefix: uniquePrefix(), onStoreError: 'deny' });
      const { expiresAfter } = referenceOf(rule, time.now * 1000);
      const writes = await recordScriptWrites(server.url, () => virtual.consume(rule, 'ann'));
      expect(writes.at(-1)!.args.at(-1)).toBe(String(Math.ceil(expiresAfter / 1000) + 1 + HOUR));
      await inVirtualTime.close();
    },
  );

  it('a peek or a denial writes nothing to Redis', async () => {
    await limiter.consume(every, 'full', { cost: 5 });
    const writes = await recordScriptWrites(server.url, async () => {
      await limiter.peek(every, 'ann');
      await limiter.consume(every, 'ann', { cost: 0 });
      await limiter.consume(every, 'full');
      await limiter.consume([every[0]!, { ...every[1]!, limit: 0 }], 'ann');
    });
    expect(writes).toEqual([]);
  });

  it('a rule with alerts writes as one without, and a key more when a charge crosses a threshold', async () => {
    const rules = plainRules({ limit: 5, windowMs: WEEK });
    const namesOf = async (rule: Rule, subject: string, cost: number): Promise<readonly string[]> =>
      (await recordScriptWrites(server.url, () => limiter.consume(rule, subject, { cost }))).map(
        ({ name }) => name,
      );
    for (const rule of rules) {
      const alerted = { ...rule, name: `${rule.name} with alerts`, alerts: [0.8] } as Rule;
      expect(await namesOf(alerted, 'alice', 2)).toEqual(await namesOf(rule, 'alice', 2));
      const plain = await namesOf(rule, 'alice', 2);
      expect([...(await namesOf(alerted, 'alice', 2))].sort()).toEqual([...plain, 'set'].sort());
      const keys = await redis.keys(`rl:{alice}:${rule.name}*:alert:*`);
      expect(keys).toEqual([expect.stringMatching(/with alerts.*:alert:1$/)]);
      expect(await redis.pttl(keys[0]!)).toBeGreaterThan(0);
    }
  });

  it('a store continues its counters after the server lost its functions and scripts', async () => {
    const rules = plainRules({ limit: 40, windowMs: WEEK });
    const admitted: boolean[] = [];
    for (let round = 0; round < 10; round++) {
      const inFlight = Array.from({ length: 5 }, () => limiter.consume(rules, 'survivor'));
      if (round % 2 === 0) await Promise.allSettled([redis.function('FLUSH'), redis.script('FLUSH')]);
      for (const { allowed, source } of await Promise.all(inFlight)) {
        expect(source).toBe('redis');
        admitted.push(allowed);
      }
    }
    expect(admitted.filter(Boolean)).toHaveLength(40);
  });
});

/** Returns the result of the reference implementation for one permit of a new subject. */
function referenceOf(rule: Rule, now: number): Allowed<unknown> {
  const { algorithm, parameters } = compileRule(rule);
  return algorithm.step(undefined, now, 1, parameters) as Allowed<unknown>;
}
