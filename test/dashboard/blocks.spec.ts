import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { RateLimitService, type RateLimitModuleOptions } from '../../lib/index.js';
import type { FoundSubject } from '../../lib/dashboard/snapshot.js';
import { Control } from '../../lib/stores/redis/link/control.js';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { EVERY_USER, startDashboard } from './dashboard-app.js';

const RULE = { window: '1h', limit: 3, algorithm: 'gcra', by: 'ip' } as const;
const MANUAL = { ...RULE, block: 'manual' } as const;
const IP = '203.0.113.7';

let server: Awaited<ReturnType<typeof startRedisServer>>;
let redis: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url);
});
afterEach(closeApps);
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

async function start(prefix: string, limits: RateLimitModuleOptions = {}) {
  const app = await startDashboard({
    limits: { rules: {}, redis: server.url, prefix, timeout: 5000, onDemand: { login: MANUAL }, ...limits },
    dashboard: { unmaskGuards: [EVERY_USER], author: () => 'ann\nroot' },
  });
  const service = app.app.get(RateLimitService);
  const find = async (subject = IP) => app.change('subjects/find', { subject });
  const list = async () => (JSON.parse((await app.ask('restrictions')).body) as FoundSubject).restrictions;
  /** Counts a subject, so that the page has its id. */
  const idOf = async (ip = IP, rule = 'login') => {
    await service.consume(rule, ip);
    const { rules } = JSON.parse((await find(ip)).body) as FoundSubject;
    return rules.find((each) => each.rule === rule)!.subject.id;
  };
  return {
    ...app,
    service,
    list,
    find,
    idOf,
    block: (subject: string, fields: object = {}) =>
      app.change('subjects/block', { rule: 'login', subject, expires: '10m', reason: 'x', ...fields }),
    listed: (name: string) => redis.zrange(`${prefix}{instances}:list:${name}`, '0', '-1'),
    /** Returns the lines of the log about subjects. */
    lines: () =>
      app.logs
        .ours()
        .map(({ message }) => message)
        .filter((message) => message.startsWith('Operations page')),
  };
}

/** While Redis rejects writes, the fallback decides, and the lists can be read. */
async function withoutWrites(run: () => Promise<void>): Promise<void> {
  await redis.config('SET', 'min-replicas-to-write', '1');
  await run().finally(() => redis.config('SET', 'min-replicas-to-write', '0'));
}

describe('the list of blocks', () => {
  it('keeps a block when a process opens it that does not know the rule or its block, or whose fallback decides', async () => {
    const prefix = uniquePrefix();
    const app = await start(prefix, { onDemand: { login: MANUAL, partners: MANUAL } });
    const others = await Promise.all([
      start(prefix, { onDemand: { login: MANUAL } }),
      start(prefix, { onDemand: { login: MANUAL, partners: RULE } }),
    ]);
    const id = await app.idOf(IP, 'partners');
    expect((await app.block(id, { rule: 'partners' })).status).toBe(200);
    const wanted = [expect.objectContaining({ rule: 'partners', by: 'ann\nroot', reason: 'x' })];
    for (const each of [...others, app]) expect(await each.list()).toEqual(wanted);
    await withoutWrites(async () => {
      expect(await app.list()).toEqual(wanted);
      const { restrictions } = JSON.parse((await app.find()).body) as FoundSubject;
      expect(restrictions).toEqual(wanted);
    });
    expect(await app.list()).toEqual(wanted);
  });

  it('keeps the blocks of operators when a program blocks many subjects, each once', async () => {
    const app = await start(uniquePrefix());
    expect((await app.block(await app.idOf())).status).toBe(200);
    for (let n = 0; n < 600; n += 1)
      await app.service.block('login', `198.51.${100 + (n % 2)}.${n % 100}`, `${n + 600}s`);
    await until(async () => (await app.listed('programs')).length > 0, 'the blocks of the program', 10_000);
    expect((await app.listed('programs')).length).toBeLessThanOrEqual(100);
    expect(await app.listed('blocks')).toHaveLength(1);
    expect((await app.list()).map(({ by }) => by)).toContain('ann\nroot');
  });

  it('has the author and the reason of a block that a program makes, and `a program` without an author', async () => {
    const app = await start(uniquePrefix());
    await app.service.block('login', IP, '1h', { by: 'fraud detection', reason: 'stolen cards' });
    await app.service.block('login', '203.0.113.8', '10m', { reason: 'x'.repeat(1024) });
    await until(async () => (await app.list()).length === 2, 'both blocks', 10_000);
    expect((await app.list()).map(({ by, reason }) => [by, reason])).toEqual([
      ['fraud detection', 'stolen cards'],
      ['a program', 'x'.repeat(1024)],
    ]);
    const { restrictions } = JSON.parse((await app.find()).body) as FoundSubject;
    expect(restrictions).toMatchObject([{ by: 'fraud detection', reason: 'stolen cards' }]);
  });

  it('has no author of a block that a program has reset for the block that a denial begins then', async () => {
    const app = await start(uniquePrefix(), { onDemand: { login: { ...RULE, limit: 1, block: '1h' } } });
    const id = await app.idOf();
    expect((await app.block(id)).status).toBe(200);
    expect((await app.list()).map(({ by, reason }) => [by, reason])).toEqual([['ann\nroot', 'x']]);
    expect(await app.service.reset('login', IP)).toBe(true);
    expect(await app.list()).toEqual([]);
    for (const allowed of [true, false])
      expect(await app.service.consume('login', IP)).toMatchObject({ allowed });
    await until(async () => (await app.list()).length === 1, 'the block of the denial', 10_000);
    const { restrictions } = JSON.parse((await app.find()).body) as FoundSubject;
    for (const [block] of [restrictions, await app.list()])
      expect([block!.by, block!.reason, block!.at]).toEqual([undefined, undefined, undefined]);
  });

  it('holds no subjects of blocks that have ended, and expires with the last one', async () => {
    const prefix = uniquePrefix();
    const app = await start(prefix);
    expect((await app.block(await app.idOf(), { expires: '50ms' })).status).toBe(200);
    await until(async () => (await app.list()).length === 0, 'the end of the block', 10_000);
    expect((await app.block(await app.idOf('203.0.113.8'), { expires: '10m' })).status).toBe(200);
    expect((await app.block(await app.idOf('203.0.113.9'), { expires: '1m' })).status).toBe(200);
    const texts = await app.listed('blocks');
    expect(texts.map((text) => (JSON.parse(text) as { subject: string }).subject)).toEqual([
      '203.0.113.9',
      '203.0.113.8',
    ]);
    const left = await redis.pttl(`${prefix}{instances}:list:blocks`);
    expect([left > 500_000, left <= 600_000]).toEqual([true, true]);
  });

  it('that lacks a block lets the subject keep its used permits when the block is undone', async () => {
    const prefix = uniquePrefix();
    const app = await start(prefix);
    const id = await app.idOf();
    while ((await app.login(IP)).status !== 429);
    expect((await app.block(id)).status).toBe(200);
    await redis.del(`${prefix}{instances}:list:blocks`);
    expect((await app.change('subjects/unblock', { rule: 'login', subject: id })).status).toBe(200);
    const { rules, restrictions } = JSON.parse((await app.find()).body) as FoundSubject;
    expect([rules[0]!.figures?.remaining, restrictions]).toEqual([0, []]);
  });
});

describe('a block while the list is not available', () => {
  it('applies, and the page says that it is not in the list; a search goes on without authors', async () => {
    const prefix = uniquePrefix();
    const app = await start(prefix);
    const id = await app.idOf();
    await redis.set(`${prefix}{instances}:list:blocks`, 'a text');
    const { status, body } = await app.block(id);
    expect([status, body]).toEqual([503, expect.stringContaining('is blocked, but not in the list.')]);
    expect((await app.login(IP)).status).toBe(429);
    expect(app.lines()).toEqual([expect.stringContaining(`has blocked the subject with the id ${id}`)]);
    const list = await app.ask('restrictions');
    expect([list.status, list.body]).toEqual([503, expect.stringContaining('The list of blocks')]);
    const found = JSON.parse((await app.find()).body) as FoundSubject;
    expect(found.problem).toMatch(
      /^Authors and reasons of its blocks are missing. The list of blocks is not available: .*WRONGTYPE/,
    );
    expect(found.restrictions).toEqual([expect.objectContaining({ by: 'unknown' })]);
  });

  it('applies in this process while Redis rejects writes', async () => {
    const app = await start(uniquePrefix(), { onStoreError: 'local' });
    const id = await app.idOf();
    await withoutWrites(async () => {
      const { status, body } = await app.block(id);
      expect([status, body]).toEqual([
        503,
        expect.stringContaining('in this process, and may have been made'),
      ]);
      expect((await app.login(IP)).status).toBe(429);
    });
  });

  it('is found, without the permits left that only Redis knows, and the list is a 503 without an error in the log, while Redis hangs', async () => {
    const own = await startRedisServer();
    const app = await start(uniquePrefix(), { redis: own.url, timeout: 100 });
    await app.idOf();
    await own.pause();
    const { status, body } = await app.ask('restrictions');
    expect([status, body]).toEqual([503, expect.stringMatching(/The list of blocks is not available: /)]);
    const found = await app.find();
    expect([found.status, found.body]).toEqual([200, expect.stringContaining('The list of blocks')]);
    const { rules, unused, problem } = JSON.parse(found.body) as FoundSubject;
    expect([rules, unused, problem]).toEqual([
      [],
      0,
      expect.stringMatching(/^What it has left is not known for rules that Redis cannot decide: 1\. /),
    ]);
    expect(app.logs.ours().filter(({ message }) => message.includes('failed'))).toEqual([]);
    await own.resume();
    await closeApps();
    await own.stop();
  });
});

it.each([
  ['a command that Redis rejects', 'ZADD'],
  ['a command that Redis does not have', 'NOSUCHCOMMAND'],
])('an error of %s has no subject, also in the log', async (_case, command) => {
  const control = new Control(server.url);
  const failed = control.call((client) => client.call(command, 'a key', 'no number', IP));
  const error: unknown = await failed.catch((reason: unknown) => reason);
  control.close();
  expect(error).toMatchObject({ name: 'ReplyError' });
  expect(inspect(error)).not.toContain(IP);
});

describe('a change of a subject', () => {
  it('is logged with its author and the id of the subject', async () => {
    const app = await start(uniquePrefix());
    const subject = await app.idOf();
    expect((await app.block(subject)).status).toBe(200);
    for (const path of ['subjects/unblock', 'subjects/reset'])
      expect((await app.change(path, { rule: 'login', subject })).status).toBe(200);
    const of = `the subject with the id ${subject} of rule "login".`;
    expect(app.lines()).toEqual([
      `Operations page: "ann\\u000aroot" has blocked ${of}`,
      `Operations page: "ann\\u000aroot" has unblocked ${of}`,
      `Operations page: "ann\\u000aroot" has reset ${of}`,
    ]);
  });

  it('is rejected with an id that decodes to the same subject, so that no log line can be forged', async () => {
    const app = await start(uniquePrefix());
    const id = `${await app.idOf()}=\n[Nest] a forged line`;
    expect((await app.block(id)).status).toBe(422);
    expect((await app.change('unmask', { subjects: [{ rule: 'login', id }] })).status).toBe(422);
    expect(app.lines()).toEqual([]);
  });

  it('is rejected with a reason of more than 1,024 characters', async () => {
    const app = await start(uniquePrefix());
    const id = await app.idOf();
    expect((await app.block(id, { reason: 'x'.repeat(1024) })).status).toBe(200);
    const { status, body } = await app.block(id, { reason: 'x'.repeat(1025) });
    expect([status, body]).toEqual([
      422,
      expect.stringContaining('allowed: a text of up to 1024 characters'),
    ]);
  });
});
