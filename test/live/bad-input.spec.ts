import { Redis } from 'ioredis';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimitConfigError, type RuleChangeRecord, type RuleSource } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { Warnings } from '../../lib/nest/warnings.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { EVERY_SOURCE } from './every-source.js';
import { startLiveApp } from './live-app.js';

const OPS = { by: 'ops@example.com' };

const API = {
  window: '1h',
  limit: 10,
  by: 'x-tenant',
  plans: { free: { limit: 20 }, pro: { limit: 500 } },
  plan: () => 'free',
} as NamedRule;

afterEach(async () => {
  jest.useRealTimers();
  await closeApps();
});

describe('bad input for live rules', () => {
  const start = (source: RuleSource = new MemoryRuleSource()) => {
    const login = { window: '1h', limit: 10, by: 'ip' } as const;
    return startLiveApp(source, { onDemand: { login, api: API } });
  };

  it.each([
    [
      'an unknown algorithm',
      { algorithm: 'leaky' },
      /login"\.algorithm: got "leaky"; allowed: "fixed-window", "sliding-window-log"/,
    ],
    ['a negative limit', { limit: -1 }, /login"\.limit: got -1; allowed: an integer from 0 to 1000000000$/],
    [
      'a limit as text that is no number',
      { limit: '3x' },
      /login"\.limit: got "3x"; allowed: an integer from 0/,
    ],
    ['a cost below 0', { cost: -1 }, /login"\.cost: got -1; allowed: an integer from 0 to 1000000000$/],
    [
      'a window without a unit',
      { window: 60 },
      /login"\.window: got 60: write "60s" or "60ms"; allowed: (?!.*function)/,
    ],
    [
      'an object that cannot be converted to a text',
      { algorithm: 'gcra', overdraft: { toString: 1 } },
      /login"\.overdraft: got \{"toString":1\}; allowed: true or false$/,
    ],
    [
      'a function in a part of the change',
      { trial: { limit: () => 3 } },
      /login"\.trial\.limit: got a function; plans and live changes have values only$/,
    ],
    [
      'plans for a rule without plans',
      { plans: { pro: { limit: 3 } } },
      /login"\.plans: got "pro"; allowed: none, since the rule in the code has no plans/,
    ],
  ])('%s is an error with the values allowed, and the last rules stay', async (_what, fields, message) => {
    const { rules, policyOf } = await start();
    await rules.set('login', { limit: 7 }, OPS);
    await expect(rules.set('login', fields as object, OPS)).rejects.toThrow(message);
    expect(await policyOf('/login')).toContain('"login";q=7;');
    expect(await rules.history()).toHaveLength(1);
  });

  it('a plan that does not exist is an error with the plans of the rule', async () => {
    const { rules } = await start();
    await expect(rules.set('api', { plans: { por: { limit: 3 } } }, OPS)).rejects.toThrow(
      'live rule "api".plans: got "por": did you mean "pro"?; allowed: "free", "pro"',
    );
    await rules.set('api', { plans: { pro: { limit: 3 } } }, OPS);
  });

  it('a limit and a cost may be digits as text, as forms and files have them', async () => {
    const { rules, policyOf, limits } = await start();
    await rules.set('login', { limit: '3', cost: '2' } as object, OPS);
    expect(await policyOf('/login')).toContain('"login";q=3;');
    expect((await limits.consume('login', '203.0.113.7')).remaining).toBe(1);
    expect((await rules.get('login'))!.fields).toEqual({ limit: '3', cost: '2' });
  });

  it.each(['-1h', '0s', -5, 0])('a change that expires after %j is an error', async (expires) => {
    const { rules } = await start();
    const set = rules.set('login', { limit: 3 }, { ...OPS, expires: expires as '1h' });
    await expect(set).rejects.toThrow(/expires: got (?:"-1h"|"0s"|-5|0)/);
    expect(await rules.get('login')).toBeUndefined();
  });

  it.each(EVERY_SOURCE)(
    'an exception of 300 kB is taken nowhere, with the source in %s',
    async (_name, open) => {
      const { source, other } = open();
      const { rules } = await start(source);
      const long = 'x'.repeat(300_000);
      const message = /got \d+ characters of JSON; allowed: at most 4096/;
      await expect(rules.setException('api', long, 'deny', OPS)).rejects.toThrow(message);
      await expect(rules.unsetException('api', long, OPS)).rejects.toThrow(message);
      await expect(rules.unsetException('api', [long, long], OPS)).rejects.toThrow(message);
      await expect(rules.unset(long, OPS)).rejects.toThrow(message);
      expect(await rules.history()).toEqual([]);
      await other.close?.();
    },
  );

  it.each(EVERY_SOURCE)(
    'a name of a rule that is no string is an error that changes nothing, with the source in %s',
    async (_name, open) => {
      const { source, other } = open();
      const { rules } = await start(source);
      const forged = ['g', '{"fields":{"limit":100000}}', '0', '', '0', '{}', '1000', '1000'];
      const names: readonly (readonly [given: unknown, shown: string])[] = [
        [forged, '["g","{'],
        [Object.create(null), '{}'],
        [{}, '{}'],
        [Symbol('login'), 'Symbol(login)'],
        [undefined, 'undefined'],
        [null, 'null'],
        [5, '5'],
      ];
      for (const [given, shown] of names) {
        const rule = given as string;
        for (const call of [
          () => rules.set(rule, { limit: 3 }, OPS),
          () => rules.unset(rule, OPS),
          () => rules.setException(rule, '203.0.113.7', 'deny', OPS),
          () => rules.unsetException(rule, '203.0.113.7', OPS),
          () => rules.get(rule),
          () => rules.get(rule, '203.0.113.7'),
        ]) {
          const failed = await call().catch((error: unknown) => error);
          expect(failed).toBeInstanceOf(RateLimitConfigError);
          expect((failed as Error).message).toContain(`live rule: got ${shown}`);
          expect((failed as Error).message).toMatch(/; allowed: the name of a rule, a string$/);
        }
      }
      expect([await rules.history(), (await other.load()).entries]).toEqual([[], []]);
      await other.close?.();
    },
  );

  it.each(EVERY_SOURCE)(
    'a live change of a rule that the code does not have any more is removed by its name, with the source in %s',
    async (_name, open) => {
      const { source, other } = open();
      await other.write!({ rule: 'former', fields: { limit: 3 }, ...OPS });
      const { rules } = await start(source);
      await rules.unset('former', OPS);
      expect((await other.load()).entries).toEqual([]);
      await other.close?.();
    },
  );

  it('an entry of a source that is too long, too deep or no JSON is rejected alone', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['trial'] = cyclic;
    const entries = [
      { rule: 'login', subject: '203.0.113.7', fields: { plans: { pro: 'x'.repeat(300_000) } } },
      ...[1, 2].map((nth) => ({
        rule: 'api',
        subject: `${'x'.repeat(300_000)}${nth}`,
        fields: 'deny' as const,
      })),
      { rule: 'api', subject: 'ann', fields: cyclic },
      { rule: 'api', subject: 'bob', fields: { limit: 3n } },
      { rule: 'login', fields: { limit: 3 } },
    ];
    const app = await start({
      load: async () => ({ version: 1, entries }),
      watch: () => () => undefined,
    });
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
    const lines = app.logs.ours().filter(({ message }) => message.includes('RL_LIVE_RULE_REJECTED'));
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringContaining('live rule "login": got 300'),
      expect.stringContaining('live rule "api": got 300'),
      expect.stringContaining('live rule "api": got a value that JSON cannot hold'),
    ]);
  });

  it('subjects of a source that terminals obey are escapes in the log and in health', async () => {
    const subject = 'a\u009b2J\u2028\u202eb';
    const { app, logs } = await start({
      load: async () => ({ version: 1, entries: [{ rule: 'login', subject, fields: 'deny' as const }] }),
      watch: () => () => undefined,
    });
    const lines = logs.ours().filter(({ message }) => message.includes('RL_LIVE_RULE_REJECTED'));
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringContaining('a\\u009b2J\\u2028\\u202eb'),
    ]);
    const messages = [...app.get(Warnings).active.values(), ...logs.ours().map(({ message }) => message)];
    expect(messages.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
  });

  it('an entry of a source whose time is over counts as no change', async () => {
    const entry = { rule: 'login', fields: { limit: 3 } };
    for (const expiresInMs of [0, -1, -86_400e3]) {
      const { policyOf, codes } = await start({
        load: async () => ({ version: 1, entries: [{ ...entry, expiresInMs }] }),
        watch: () => () => undefined,
      });
      expect(await policyOf('/login')).toContain('"login";q=10;');
      expect(await codes()).toEqual([]);
    }
  });

  it.each(EVERY_SOURCE)('a source in %s rejects a change without time to apply', async (_name, open) => {
    const { source, other } = open();
    for (const expiresInMs of [0, -1, NaN]) {
      const written = source.write!({ rule: 'login', fields: { limit: 3 }, ...OPS, expiresInMs });
      await expect(written).rejects.toThrow(
        `expiresInMs of live rule "login": got ${expiresInMs}; allowed: milliseconds from 1, or undefined`,
      );
    }
    expect((await other.load()).entries).toEqual([]);
    await Promise.all([source.close?.(), other.close?.()]);
  });

  it.each(EVERY_SOURCE)(
    'a source in %s rejects a change with a rule or an author that is no text',
    async (_name, open) => {
      const { source, other } = open();
      const change = { rule: 'login', fields: { limit: 3 }, ...OPS };
      for (const wrong of [
        { rule: ['login', 'api'] },
        { rule: 5 },
        { by: { name: 'ann' } },
        { by: undefined },
      ]) {
        const [[name, given] = []] = Object.entries(wrong);
        await expect(source.write!({ ...change, ...wrong } as never)).rejects.toThrow(
          `${name} of a live change: got ${JSON.stringify(given)}; allowed: a text`,
        );
      }
      expect((await other.load()).entries).toEqual([]);
      await Promise.all([source.close?.(), other.close?.()]);
    },
  );

  it('a history of a million changes is read in part, and cut to a thousand by the next change', async () => {
    const key = uniquePrefix();
    const client = new Redis(redisUrl());
    const app = await start(new RedisRuleSource({ redis: redisUrl(), key }));
    const version = await app.rules.set('login', { limit: 3 }, OPS);
    const fill = `local record = redis.call('LINDEX', KEYS[1], 0)
      for _ = 1, 1000 do
        local records = {}
        for index = 1, 1000 do records[index] = record end
        redis.call('RPUSH', KEYS[1], unpack(records))
      end`;
    await client.eval(fill, 1, `{${key}}:history`);
    expect(await app.rules.history(5000)).toHaveLength(1000);
    await app.rules.set('login', { limit: 4 }, { ...OPS, version });
    expect(await client.llen(`{${key}}:history`)).toBe(1000);
    expect(await app.policyOf('/login')).toContain('"login";q=4;');
    client.disconnect();
  }, 60_000);

  it('a source that returns a million records is cut to those that were asked for', async () => {
    const record: RuleChangeRecord = { rule: 'login', version: 1, at: 0, ...OPS };
    const records = new Array<RuleChangeRecord>(1_000_000).fill(record);
    const { rules } = await start({
      load: async () => ({ version: 1, entries: [] }),
      watch: () => () => undefined,
      history: async () => records,
    });
    expect(await rules.history()).toHaveLength(100);
    expect(await rules.history(1e6)).toHaveLength(1000);
  });

  it('a source that hangs gives its author an error, and the last rules stay in force', async () => {
    let hangs = false;
    const memory = new MemoryRuleSource();
    const orHang = <Result>(run: () => Promise<Result>) => (hangs ? new Promise<Result>(() => {}) : run());
    const app = await start({
      load: () => orHang(() => memory.load()),
      watch: (changed) => memory.watch(changed),
      write: (change) => orHang(() => memory.write(change)),
      history: (most) => orHang(() => memory.history(most)),
    });
    await app.rules.set('login', { limit: 3 }, OPS);
    hangs = true;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
    const asked = [
      app.rules.set('login', { limit: 4 }, OPS),
      app.rules.get('login'),
      app.rules.history(),
    ].map((each) => each.then(String, (error: unknown) => (error as Error).message));
    await jest.advanceTimersByTimeAsync(5000);
    expect(await Promise.all(asked)).toEqual([
      'live rules: the source did not confirm the change (no answer within 5000 ms). It may have been made: check with rules.get().',
      'live rules: the source could not be read (no answer within 1000 ms).',
      'live rules: the source could not be read (no answer within 1000 ms).',
    ]);
    jest.useRealTimers();
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
  });
});
