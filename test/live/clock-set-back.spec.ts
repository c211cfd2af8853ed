import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import { RedisRuleSource } from '../../lib/redis.js';
import type { RuleSource, SourcedRule } from '../../lib/index.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const HOUR = 3_600_000;
const BY = { by: 'ops@example.com' };

/** How far the clock of the source is ahead. */
let ahead = 0;

const closers: (() => unknown)[] = [];

beforeEach(setClock);

afterEach(async () => {
  ahead = 0;
  for (const close of closers.splice(0).reverse()) await close();
});

/** The server is real; its scripts read a clock that can be set, instead of that of the machine. */
function setClock(): void {
  const evaluate = Redis.prototype.eval as (...args: unknown[]) => Promise<unknown>;
  const time = "redis.call('TIME')";
  const run = function (this: Redis, lua: string, ...rest: unknown[]) {
    expect(lua).toContain(time);
    const set = `(function() local t = ${time}; return { t[1] + ${ahead / 1000}, t[2] } end)()`;
    return evaluate.call(
      this,
      lua.replaceAll(time, () => set),
      ...rest,
    );
  };
  const spy = jest.spyOn(Redis.prototype, 'eval').mockImplementation(run as never);
  // The server may have the script from another suite, which reads the clock of the machine.
  const cached = jest
    .spyOn(Redis.prototype, 'evalsha')
    .mockImplementation(() =>
      Promise.reject(new Error('NOSCRIPT the script of this test has its own clock')),
    );
  closers.push(
    () => spy.mockRestore(),
    () => cached.mockRestore(),
  );
}

function open(key: string): RuleSource {
  const source = new RedisRuleSource({ redis: redisUrl(), key });
  closers.push(() => source.close());
  return source;
}

const SOURCES: readonly (readonly [string, () => readonly [RuleSource, RuleSource]])[] = [
  [
    'memory',
    () => {
      const source = new MemoryRuleSource(() => Date.now() + ahead);
      return [source, source];
    },
  ],
  [
    'Redis',
    () => {
      const key = uniquePrefix();
      return [open(key), open(key)];
    },
  ],
];

async function endOf(source: RuleSource, rule: string): Promise<number | undefined> {
  const { entries, loss } = await source.load();
  expect(loss).toBeUndefined();
  return entries.find((entry: SourcedRule) => entry.rule === rule)?.expiresInMs;
}

describe.each(SOURCES)('ends of live rules in %s', (_name, openBoth) => {
  it.each([60_000, 10 * HOUR, 366 * 24 * HOUR])(
    'an incident rule for a second does not last %d ms because the clock was ahead',
    async (step) => {
      const [source, other] = openBoth();
      ahead = step;
      await source.write!({ rule: 'login', fields: { limit: 3 }, expiresInMs: 1000, ...BY });
      await source.write!({
        rule: 'search',
        subject: '203.0.113.7',
        fields: 'deny',
        expiresInMs: 5000,
        ...BY,
      });
      await source.write!({ rule: 'default', fields: { limit: 4 }, ...BY });
      ahead = 0;
      for (const each of [source, other]) {
        expect(await endOf(each, 'login')).toBeLessThanOrEqual(1000);
        const end = await endOf(each, 'search');
        expect(end! > 0 && end! <= 5000).toBe(true);
      }
      // It ends, although what is stored is read again.
      await until(async () => (await endOf(other, 'login')) === undefined, 'the end of the rule');
      const { entries } = await source.load();
      expect(entries.map(({ rule, fields }) => [rule, fields])).toEqual(
        expect.arrayContaining([['default', { limit: 4 }]]),
      );
      expect(entries.every(({ at }) => at! <= Date.now() + 1000)).toBe(true);
    },
  );

  it('a rule that was made before the clock ran ahead ends at its time', async () => {
    const [source, other] = openBoth();
    await source.write!({ rule: 'login', fields: { limit: 3 }, expiresInMs: HOUR, ...BY });
    ahead = 10 * HOUR;
    expect(await endOf(other, 'login')).toBeUndefined();
    await source.write!({ rule: 'search', fields: { limit: 4 }, expiresInMs: HOUR, ...BY });
    ahead = 0;
    for (const rule of ['login', 'search']) {
      const end = await endOf(other, rule);
      expect(end! > HOUR - 60_000 && end! <= HOUR).toBe(true);
    }
  });

  it('a step of less than a second moves no end, and a moved rule keeps its version and author', async () => {
    const [source, other] = openBoth();
    ahead = 900;
    const change = { rule: 'login', fields: { limit: 3 }, expiresInMs: HOUR, ...BY };
    const version = await source.write!(change);
    ahead = 0;
    const before = await source.load();
    ahead = -HOUR;
    const after = await other.load();
    const [first, moved] = [before.entries[0]!, after.entries[0]!];
    expect(moved).toMatchObject({ rule: 'login', fields: { limit: 3 }, version, by: BY.by });
    expect(first.at! - moved.at! > HOUR - 60_000).toBe(true);
    expect(await source.write!({ ...change, version })).toBeGreaterThan(version);
  });
});

describe('ends of live rules in Redis', () => {
  it('processes that follow the rules hear that an end was moved', async () => {
    const key = uniquePrefix();
    const [source, other] = [open(key), open(key)];
    ahead = 10 * HOUR;
    await source.write!({ rule: 'login', fields: { limit: 3 }, expiresInMs: HOUR, ...BY });
    await other.load();
    let hasChanged = false;
    closers.push(other.watch(() => (hasChanged = true)));
    ahead = 0;
    await until(() => hasChanged, 'the message');
    expect(await endOf(other, 'login')).toBeLessThanOrEqual(HOUR);
  });

  it('a process that started while the clock was ahead gets the rules that go on', async () => {
    const key = uniquePrefix();
    const [source, other] = [open(key), open(key)];
    await source.write!({ rule: 'login', fields: { limit: 3 }, expiresInMs: HOUR, ...BY });
    ahead = 10 * HOUR;
    let end = await endOf(other, 'login');
    expect(end).toBeUndefined();
    const evaluate = jest.mocked(Redis.prototype.eval);
    closers.push(other.watch(() => void endOf(other, 'login').then((now) => (end = now))));
    const before = evaluate.mock.calls.length;
    await until(() => evaluate.mock.calls.length >= before + 2, 'two polls');
    expect(end).toBeUndefined();
    ahead = 0;
    await until(() => end !== undefined, 'the rule');
  });

  it('rules that are restored after a loss, and after the clock was set back, keep their length', async () => {
    const key = uniquePrefix();
    const source = open(key);
    ahead = 10 * HOUR;
    await source.write!({ rule: 'login', fields: { limit: 3 }, expiresInMs: HOUR, ...BY });
    await source.load();
    ahead = 0;
    const admin = new Redis(redisUrl());
    closers.push(() => admin.disconnect());
    await admin.del(`{${key}}`, `{${key}}:version`);
    const lost = await source.load();
    expect(lost.loss).toBeDefined();
    expect(lost.entries[0]!.expiresInMs).toBeLessThanOrEqual(HOUR);
    await source.restore!(BY);
    expect(await endOf(source, 'login')).toBeLessThanOrEqual(HOUR);
    expect((await source.load()).entries[0]!.at!).toBeLessThanOrEqual(Date.now() + 1000);
  });
});
