import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimitConflictError, type RuleChange } from '../../lib/index.js';
import { until } from '../support/redis/until.mjs';
import { EVERY_SOURCE, type Sources } from './every-source.js';

const BY = 'ops@example.com';
const login = (limit: number): RuleChange => ({ rule: 'login', fields: { limit }, by: BY });

describe.each(EVERY_SOURCE)('a rule source in %s', (_name, open) => {
  let sources: Sources;
  const stops: (() => void)[] = [];

  beforeEach(() => {
    sources = open();
  });

  afterEach(async () => {
    for (const stop of stops.splice(0)) stop();
    await Promise.all([sources.source.close?.(), sources.other.close?.()]);
  });

  it('is empty at first', async () => {
    expect((await sources.source.load()).entries).toEqual([]);
    expect(await sources.source.history!(10)).toEqual([]);
  });

  it('holds a change for every process, with its author and its reason', async () => {
    const version = await sources.source.write!({ ...login(3), reason: 'attack' });
    const { entries } = await sources.other.load();
    expect(entries).toEqual([
      expect.objectContaining({ rule: 'login', fields: { limit: 3 }, by: BY, reason: 'attack', version }),
    ]);
    expect(entries[0]!.at).toEqual(expect.any(Number));
  });

  it('has another version after each change', async () => {
    const versions = [(await sources.source.load()).version];
    for (const limit of [3, 4]) {
      await sources.source.write!(login(limit));
      versions.push((await sources.other.load()).version);
    }
    expect(new Set(versions).size).toBe(3);
  });

  it('calls back in another process after a change', async () => {
    let calls = 0;
    stops.push(sources.other.watch(() => (calls += 1)));
    await sources.other.load();
    await sources.source.write!(login(3));
    await until(() => calls > 0, 'the call');
  });

  it('holds a rule and its exceptions apart', async () => {
    await sources.source.write!(login(3));
    await sources.source.write!({ ...login(9), subject: 'vip' });
    await sources.source.write!({ ...login(9), subject: ['a', 7], fields: 'deny' });
    await sources.source.write!({ ...login(0), fields: undefined });
    const { entries } = await sources.other.load();
    expect(entries.map(({ subject, fields }) => ({ subject, fields }))).toEqual([
      { subject: 'vip', fields: { limit: 9 } },
      { subject: ['a', 7], fields: 'deny' },
    ]);
  });

  it('lifts a change at its end', async () => {
    await sources.source.write!({ ...login(3), expiresInMs: 60_000 });
    const [entry] = (await sources.other.load()).entries;
    expect(entry!.expiresInMs).toBeGreaterThan(50_000);
    await sources.source.write!({ ...login(3), expiresInMs: 1 });
    await until(async () => (await sources.other.load()).entries.length === 0, 'the end');
  });

  it('rejects a change for another version, and names the current one', async () => {
    const version = await sources.source.write!({ ...login(3), version: 0 });
    const stale = await sources.other.write!({ ...login(4), version: 0 }).catch((error: unknown) => error);
    expect(stale).toBeInstanceOf(RateLimitConflictError);
    expect(stale).toMatchObject({ rule: 'login', version });
    await sources.other.write!({ ...login(5), version });
    expect((await sources.source.load()).entries[0]!.fields).toEqual({ limit: 5 });
  });

  it('lets exactly one of several authors change the version that all of them have seen', async () => {
    const version = await sources.source.write!(login(1));
    const attempts = [2, 3, 4, 5].map((limit) => sources.other.write!({ ...login(limit), version }));
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('starts new counters with a reset, and keeps them with the next change', async () => {
    const version = await sources.source.write!({ ...login(3), inherit: 'reset' });
    await sources.source.write!(login(4));
    expect((await sources.other.load()).entries[0]!.counter).toBe(String(version));
  });

  it('keeps the last 1,000 changes in its history, the latest first', async () => {
    for (let limit = 0; limit < 1005; limit += 1) await sources.source.write!(login(limit));
    await sources.source.write!({ rule: 'login', fields: undefined, by: 'eve', reason: 'over' });
    const history = await sources.other.history!(2000);
    expect(history).toHaveLength(1000);
    expect(history[0]).toMatchObject({ rule: 'login', by: 'eve', reason: 'over' });
    expect(history[0]!.fields).toBeUndefined();
    expect(history[1]).toMatchObject({ fields: { limit: 1004 }, by: BY });
    expect(history[0]!.version).toBeGreaterThan(history[1]!.version);
  });

  it('holds at most 1,000 changes, and makes room for those that have ended', async () => {
    const exception = (subject: string): RuleChange => ({ ...login(3), subject });
    await sources.source.write!({ ...exception('short'), expiresInMs: 3_600_000 });
    await sources.source.write!({ ...exception('shorter'), expiresInMs: 1 });
    for (let index = 0; index < 999; index += 1) await sources.source.write!(exception(`s${index}`));
    await expect(sources.source.write!(exception('one more'))).rejects.toThrow(/holds 1000 changes/);
    await sources.source.write!(exception('short'));
  });
});
