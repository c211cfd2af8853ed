import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimitConfigError,
  RateLimitConflictError,
  type RateLimitModuleOptions,
  type RuleSource,
  type SourcedRules,
} from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { EVERY_SOURCE } from './every-source.js';
import { startLiveApp, type LiveApp } from './live-app.js';

const BY = { by: 'ops@example.com' };

afterEach(closeApps);

const statusesOf = async ({ send }: LiveApp, count: number, from = '203.0.113.7', path = '/login') => {
  const statuses = [];
  for (let index = 0; index < count; index += 1) {
    const method = path === '/login' ? 'POST' : 'GET';
    statuses.push((await send({ method, path, headers: { 'x-forwarded-for': from } })).status);
  }
  return statuses;
};

describe.each(EVERY_SOURCE)('live rules in %s', (name, open) => {
  const startTwo = async () => {
    const { source, other } = open();
    const redis = name === 'Redis' ? redisUrl() : undefined;
    const options: RateLimitModuleOptions = { redis, prefix: uniquePrefix() };
    return [await startLiveApp(source, options), await startLiveApp(other, options)] as const;
  };

  it('a change applies in every process, to routes and to programs', async () => {
    const [one, two] = await startTwo();
    expect(await two.policyOf('/login')).toContain('"login";q=10;w=3600');
    await one.rules.set('login', { limit: 3 }, BY);
    expect(await one.policyOf('/login')).toContain('"login";q=3;w=3600');
    await until(async () => (await two.policyOf('/login'))!.includes('"login";q=3;'), 'the other process');
    expect((await two.limits.peek('login', '203.0.113.9')).limit).toBe(3);
    await two.rules.unset('login', BY);
    await until(
      async () => (await one.policyOf('/login'))!.includes('"login";q=10;'),
      'the end of the change',
    );
    expect((await one.limits.peek('login', '203.0.113.9')).limit).toBe(10);
  });

  it('a change applies although a program has read it before the process found it', async () => {
    const [one, two] = await startTwo();
    await one.rules.set('login', { limit: 3 }, BY);
    expect(await two.rules.get('login')).toMatchObject({ fields: { limit: 3 } });
    await until(async () => (await two.policyOf('/login'))!.includes('"login";q=3;'), 'the change');
  });

  it('a change applies in each of two applications of a process that have one source', async () => {
    const { source, other } = open();
    const apps = [await startLiveApp(source), await startLiveApp(source)];
    for (const limit of [3, 4, 5]) {
      await other.write!({ rule: 'login', fields: { limit }, ...BY });
      for (const app of apps) {
        await until(
          async () => (await app.policyOf('/login'))!.includes(`"login";q=${limit};`),
          'the change',
        );
      }
    }
    await other.close?.();
  });

  it('a denial that was cached does not outlive the rule that denied', async () => {
    const [one] = await startTwo();
    await one.rules.set('login', { limit: 2 }, BY);
    expect(await statusesOf(one, 5)).toEqual([200, 200, 429, 429, 429]);
    await one.rules.set('login', { limit: 4 }, BY);
    expect(await statusesOf(one, 3)).toEqual([200, 200, 429]);
  });

  it('a change keeps the consumed permits, unless it starts new counters', async () => {
    const [one] = await startTwo();
    expect(await statusesOf(one, 2)).toEqual([200, 200]);
    await one.rules.set('login', { limit: 3 }, BY);
    expect(await statusesOf(one, 2)).toEqual([200, 429]);
    await one.rules.set('login', { limit: 1 }, { ...BY, inherit: 'reset' });
    expect(await statusesOf(one, 2)).toEqual([200, 429]);
    await one.rules.set('login', { limit: 2 }, BY);
    expect(await statusesOf(one, 2)).toEqual([200, 429]);
  });

  it('a change that expires is lifted in every process', async () => {
    const [one, two] = await startTwo();
    await one.rules.set('login', { limit: 1 }, { ...BY, expires: '400ms' });
    await until(async () => (await two.limits.peek('login', '203.0.113.9')).limit === 1, 'the change');
    expect(one.rules.list().find(({ rule }) => rule === 'login')!.live!.expiresInMs).toBeGreaterThan(0);
    await until(
      async () => (await two.limits.peek('login', '203.0.113.9')).limit === 10,
      'its end in one process',
    );
    await until(
      async () => (await one.limits.peek('login', '203.0.113.9')).limit === 10,
      'its end in the other',
    );
    expect(await one.rules.get('login')).toBeUndefined();
  });

  it('an exception gives one subject another limit, allows it or denies it', async () => {
    const [one, two] = await startTwo();
    await one.rules.set('login', { limit: 1 }, BY);
    await one.rules.setException('login', '203.0.113.1', { limit: 3 }, BY);
    await one.rules.setException('login', '203.0.113.2', 'allow', BY);
    await one.rules.setException('login', '203.0.113.3', 'deny', BY);
    await until(
      async () => (await two.limits.peek('login', '203.0.113.3')).limit === 0,
      'the last exception',
    );
    expect(await statusesOf(two, 4, '203.0.113.1')).toEqual([200, 200, 200, 429]);
    expect(await statusesOf(two, 4, '203.0.113.2')).toEqual([200, 200, 200, 200]);
    expect(await statusesOf(two, 2, '203.0.113.3')).toEqual([429, 429]);
    expect(await statusesOf(two, 2, '203.0.113.4')).toEqual([200, 429]);
    expect((await two.limits.consume('login', '203.0.113.2')).allowed).toBe(true);
    await two.rules.unsetException('login', '203.0.113.3', BY);
    expect(await statusesOf(two, 2, '203.0.113.3')).toEqual([200, 429]);
  });

  it('an exception is changed, read and removed by each form of its subject', async () => {
    const [one] = await startTwo();
    await one.rules.setException('login', '203.0.113.3', 'deny', BY);
    await one.rules.setException('login', '::ffff:203.0.113.3', { limit: 3 }, BY);
    expect(await one.rules.get('login', '::FFFF:203.0.113.3')).toMatchObject({ fields: { limit: 3 } });
    expect((await one.limits.peek('login', '203.0.113.3')).limit).toBe(3);
    await one.rules.unsetException('login', '0:0:0:0:0:ffff:203.0.113.3', BY);
    expect((await one.limits.peek('login', '203.0.113.3')).limit).toBe(10);
    await one.rules.setException('search', 42, 'deny', BY);
    await one.rules.unsetException('search', '42', BY);
    expect(await one.rules.get('search', 42)).toBeUndefined();
  });

  it('a request that does not count is refunded by the trial limit of an exception', async () => {
    const { source } = open();
    const login = { window: '1h', limit: 10, by: 'ip', count: 'failures' } as const;
    const redis = name === 'Redis' ? redisUrl() : undefined;
    const app = await startLiveApp(source, { redis, prefix: uniquePrefix(), onDemand: { login } });
    await app.rules.setException('login', '203.0.113.7', { trial: { limit: 5 } }, BY);
    expect(await statusesOf(app, 2)).toEqual([200, 200]);
    const remaining = async () => {
      const { decisions } = await app.limits.peek('login', '203.0.113.7'); // after one more request
      return decisions.map(({ rule, remaining: left }) => `${rule} ${left}`);
    };
    await until(async () => (await remaining())[0] === 'login 9', 'the refunds');
    expect(await remaining()).toEqual(['login 9', 'login? 4']);
  });

  it('an exception keeps the permits that its subject has consumed', async () => {
    const [one] = await startTwo();
    await one.rules.set('login', { limit: 2 }, { ...BY, inherit: 'reset' });
    expect(await statusesOf(one, 3)).toEqual([200, 200, 429]);
    await one.rules.setException('login', '203.0.113.7', { limit: 3 }, BY);
    expect(await statusesOf(one, 2)).toEqual([200, 429]);
  });

  it('a subject that a header gives can have an exception', async () => {
    const [one] = await startTwo();
    await one.rules.setException('search', 'vip', { limit: 1000 }, BY);
    expect(await one.policyOf('/search', { 'x-tenant': 'vip' })).toContain('"search";q=1000;');
    expect(await one.policyOf('/search', { 'x-tenant': 'other' })).toContain('"search";q=30;');
  });

  it('a stale change is rejected with the current version', async () => {
    const [one] = await startTwo();
    const version = await one.rules.set('login', { limit: 3 }, { ...BY, version: 0 });
    const stale = one.rules.set('login', { limit: 4 }, { ...BY, version: 0 });
    await expect(stale).rejects.toThrow(RateLimitConflictError);
    expect((await one.rules.get('login'))!.version).toBe(version);
    await one.rules.set('login', { limit: 4 }, { ...BY, version });
  });

  it('the history states who has changed what, when and why', async () => {
    const [one] = await startTwo();
    await one.rules.set('login', { limit: 3 }, { ...BY, reason: 'attack', expires: '1h' });
    await one.rules.unset('login', { by: 'eve', reason: 'over' });
    expect(await one.rules.history()).toEqual([
      expect.objectContaining({ rule: 'login', by: 'eve', reason: 'over', at: expect.any(Number) }),
      expect.objectContaining({ fields: { limit: 3 }, reason: 'attack', expiresInMs: 3_600_000 }),
    ]);
  });
});

describe('live rules', () => {
  it('the list of rules states where each field comes from', async () => {
    const app = await startLiveApp(new MemoryRuleSource());
    await app.rules.set('search', { window: '2h' }, BY);
    const search = app.rules.list().find(({ rule, route }) => rule === 'search' && route !== undefined)!;
    expect(search.fields).toEqual({
      window: { value: '2h', from: 'live rule "search"' },
      limit: { value: 30, from: 'overrides.search.limit' },
      by: { value: 'x-tenant', from: '@RateLimit on Pages.search' },
    });
    expect(app.rules.list()[0]!.fields['limit']).toEqual({ value: 100, from: 'rules.default' });
  });

  it.each<[string, object, RegExp]>([
    [
      'lgin',
      { limit: 3 },
      /live rule "lgin": no rule has this name: did you mean "login"\?; allowed: "login", "default", "search"/,
    ],
    ['login', { limit: -1 }, /live rule "login".limit: got -1; allowed: an integer from 0 to 1000000000/],
    ['login', { limit: 1e6 }, /limit: got 1000000; allowed without an algorithm: at most 10000/],
    ['login', { algorithm: 'leaky' }, /live rule "login".algorithm: got "leaky"; allowed: "fixed-window"/],
    ['login', { window: 60 }, /live rule "login".window: got 60: write "60s" or "60ms"/],
    ['login', { burst: 3 }, /live rule "login".burst: no such option of sliding-window-log/],
    [
      'login',
      { limt: 3 },
      /live rule "login".limt: no such option of .*: did you mean "limit"\?; allowed: limit, cost, block, algorithm, mode, maxWait, trial, onStoreError, plans, window/,
    ],
    [
      'login',
      { limit: () => 3 },
      /live rule "login".limit: got a function; plans and live changes have values only/,
    ],
    [
      'login',
      { by: 'user' },
      /live rule "login".by: only in the code, for the whole rule; plans and live changes have limit, window/,
    ],
    ['login', { algorithm: 'concurrency', limit: 3 }, /a live change cannot turn a rule into concurrency/],
    ['login', { limit: 3n as unknown as number }, /live rule "login": got a value that JSON cannot hold/],
    ['login', { maxWait: '1s' }, /live rule "login".maxWait: got "1s"; allowed: none, unless the rule/],
    ['login', {}, /live rule "login": got \{\}; allowed: an object with fields of a rule/],
    [
      'login',
      { limit: 3, trial: { limit: 'x'.repeat(5000) } },
      /got \d+ characters of JSON; allowed: at most 4096/,
    ],
  ])('rejects a wrong change of %p to its author: %p', async (rule, fields, message) => {
    const app = await startLiveApp(new MemoryRuleSource());
    await expect(app.rules.set(rule, fields, BY)).rejects.toThrow(message);
    expect(await app.rules.history()).toEqual([]);
    expect(await app.policyOf('/login')).toContain('"login";q=10;');
  });

  it.each<[object, RegExp]>([
    [{}, /by: missing; allowed: a text of 1 to 256 characters/],
    [{ by: '' }, /by: got ""/],
    [{ ...BY, reason: 'x'.repeat(2000) }, /reason: got .*; allowed: a text of up to 1024 characters/],
    [{ ...BY, expires: 60 }, /expires: got 60: write "60s" or "60ms"/],
    [{ ...BY, version: -1 }, /version: got -1; allowed: an integer from 0/],
    [{ ...BY, inherit: 'halves' }, /inherit: got "halves"; allowed: "reset"/],
    [{ ...BY, untill: '1h' }, /untill: no such option/],
  ])('rejects wrong options of a change: %p', async (options, message) => {
    const app = await startLiveApp(new MemoryRuleSource());
    await expect(app.rules.set('login', { limit: 3 }, options as typeof BY)).rejects.toThrow(message);
  });

  it('rejects an exception for a value that is no subject of the rule', async () => {
    const app = await startLiveApp(new MemoryRuleSource());
    const wrong = app.rules.setException('login', 'ann', 'deny', BY);
    await expect(wrong).rejects.toThrow(/subject of live rule "login": got "ann"; allowed: an IP address/);
    const other = app.rules.setException('login', '203.0.113.7', 'block' as 'deny', BY);
    await expect(other).rejects.toThrow(/7": got "block"; allowed: fields of the rule, "allow" or "deny"/);
    const unset = app.rules.setException('login', '203.0.113.7', {}, BY);
    await expect(unset).rejects.toThrow(/7": got \{\}; allowed: fields of the rule, "allow" or "deny"/);
  });

  it('cannot be changed without a source, or in a source that only reads', async () => {
    const app = await startLiveApp(undefined);
    await expect(app.rules.set('login', { limit: 3 }, BY)).rejects.toThrow(
      /write liveRules: new RedisRuleSource/,
    );
    const reading: RuleSource = {
      load: async () => ({ version: 1, entries: [] }),
      watch: () => () => undefined,
    };
    const other = await startLiveApp(reading);
    await expect(other.rules.set('login', { limit: 3 }, BY)).rejects.toThrow(RateLimitConfigError);
  });

  it('a wrong rule in the source leaves the last right one in force, with one log line and its code in health', async () => {
    const source = new MemoryRuleSource();
    const app = await startLiveApp(source);
    await app.rules.set('login', { limit: 3 }, BY);
    await source.write({ rule: 'login', fields: { limit: -5 }, ...BY });
    await source.write({ rule: 'default', fields: { limit: 50 }, ...BY });
    await source.write({ rule: 'gone', fields: { limit: 50 }, ...BY });
    await until(async () => (await app.policyOf('/page'))!.includes('q=50'), 'the right change');
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    expect(app.logs.ours().filter(({ message }) => message.includes('got -5'))).toHaveLength(1);
    expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
    await source.write({ rule: 'login', fields: { limit: 4 }, ...BY });
    await source.write({ rule: 'gone', fields: undefined, ...BY });
    await until(async () => (await app.codes()).length === 0, 'the end of the warning');
    expect(await app.policyOf('/login')).toContain('"login";q=4;');
  });

  const unreachable = 'redis://127.0.0.1:1';

  it('the rules in the code apply while the source is unreachable at start, with a warning', async () => {
    const app = await startLiveApp(new RedisRuleSource({ redis: unreachable }));
    expect(await app.policyOf('/login')).toContain('"login";q=10;');
    expect(await app.codes()).toEqual(['RL_LIVE_RULES_UNREAD']);
    const lines = app.logs.ours().filter(({ message }) => message.includes('RL_LIVE_RULES_UNREAD'));
    expect(lines).toEqual([
      { level: 'warn', message: expect.stringContaining('the rules in the code are in force') },
    ]);
  });

  it('the last rules stay in force while a source hangs or fails, and the next ones apply when it answers', async () => {
    let rules: () => Promise<SourcedRules> = async () => ({
      version: 1,
      entries: [{ rule: 'login', fields: { limit: 3 } }],
    });
    let changed = () => {};
    const app = await startLiveApp({
      load: () => rules(),
      watch: (listener) => {
        changed = listener;
        return () => undefined;
      },
    });
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    rules = () => new Promise(() => {});
    changed();
    await until(async () => (await app.codes()).includes('RL_LIVE_RULES_UNREAD'), 'the warning');
    expect(await app.policyOf('/login')).toContain('"login";q=3;');
    rules = async () => ({ rules: {} }) as never;
    await until(() => app.logs.ours().length > 0, 'a line');
    rules = async () => ({ version: 2, entries: [{ rule: 'login', fields: { limit: 4 } }] });
    await until(async () => (await app.policyOf('/login'))!.includes('q=4'), 'the next rules');
    expect(await app.codes()).toEqual([]);
    expect(app.logs.ours().at(-1)).toEqual({ level: 'log', message: 'The live rules can be read again.' });
  });

  const LIMIT_3 = { rule: 'login', fields: { limit: 3 } };
  it.each([
    ['no version', { entries: [LIMIT_3] }, 'returned no { version'],
    ['a version that is not a number', { version: NaN, entries: [LIMIT_3] }, 'returned no { version'],
    ['a rule twice', { version: 1, entries: [LIMIT_3, LIMIT_3] }, 'returned rule "login" twice'],
  ])(
    'a source that returns %s is reported, and the rules in the code apply',
    async (_what, loaded, reason) => {
      const app = await startLiveApp({
        load: async () => loaded as SourcedRules,
        watch: () => () => undefined,
      });
      expect(await app.policyOf('/login')).toContain('"login";q=10;');
      expect(await app.codes()).toEqual(['RL_LIVE_RULES_UNREAD']);
      expect(app.logs.ours().at(-1)!.message).toContain(reason);
    },
  );

  it.each([
    [{ ...LIMIT_3, expiresInMs: 'soon' }, 'live rule "login".expiresInMs: got "soon"'],
    [{ ...LIMIT_3, rule: 42 }, 'an entry of the live rules: got {"rule":42,"fields":{"limit":3}}'],
    ['login', 'an entry of the live rules: got "login"'],
    [{ rule: 'login', fields: { algorithm: ['gcra'] } }, 'algorithm: got ["gcra"]'],
    [{ rule: 'login', fields: { algorithm: { toString: 1 } } }, 'algorithm: got {"toString":1}'],
  ])('an entry %j of a source is rejected alone, and the others apply', async (wrong, reason) => {
    const search = { rule: 'search', fields: { limit: 3 } };
    const app = await startLiveApp({
      load: async () => ({ version: 1, entries: [wrong, search] }) as SourcedRules,
      watch: () => () => undefined,
    });
    expect(await app.policyOf('/search')).toContain('"search";q=3;');
    expect(await app.policyOf('/login')).toContain('"login";q=10;');
    expect(await app.codes()).toEqual(['RL_LIVE_RULE_REJECTED']);
    expect(
      app.logs
        .ours()
        .map(({ message }) => message)
        .join(),
    ).toContain(reason);
  });

  it('a change without a field is rejected, so that it does not remove the one before', async () => {
    const { rules } = await startLiveApp(new MemoryRuleSource());
    await rules.set('login', { limit: 3 }, BY);
    const unset = undefined as never;
    await expect(rules.set('login', unset, BY)).rejects.toThrow(/got undefined; allowed: .*use unset\(\)/);
    await expect(rules.setException('login', '203.0.113.7', unset, BY)).rejects.toThrow(/got undefined/);
    await expect(rules.set('login', { limit: unset }, BY)).rejects.toThrow(/got {}; allowed: an object/);
    expect(await rules.get('login')).toMatchObject({ fields: { limit: 3 } });
  });

  it('a source of another form stops the application', async () => {
    const wrong = startLiveApp({ load: 5 } as never);
    await expect(wrong).rejects.toThrow(/liveRules: got .*; allowed: a RedisRuleSource, FileRuleSource/);
  });

  it('a source whose watch throws or returns no function stops the application', async () => {
    const source = (watch: unknown) =>
      startLiveApp({ load: async () => ({ version: 0, rules: [], exceptions: [] }), watch } as never);
    await expect(source(() => undefined)).rejects.toThrow(
      /the result of liveRules.watch.*got undefined; allowed: a function that stops the reports/,
    );
    const throws = () => {
      throw new Error('no file to watch');
    };
    await expect(source(throws)).rejects.toThrow(/liveRules.watch: threw .*no file to watch/);
  });
});
