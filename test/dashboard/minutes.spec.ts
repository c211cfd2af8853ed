import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { Minutes, MOST_RULES, type MinuteCounts } from '../../lib/dashboard/collect/counts.js';
import { Control } from '../../lib/stores/redis/link/control.js';
import { ProcessRecords, type AddedMinute } from '../../lib/stores/redis/link/process-records.js';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { startDashboard, type DashboardApp } from './dashboard-app.js';

const MINUTE = 29_000_000;
const KEY = 'm:{instances}';

let server: RedisServer;
let redis: Redis;
let control: Control;

beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.port, server.host);
});

beforeEach(async () => {
  await redis.flushall();
  control = new Control(server.url);
});

afterEach(async () => {
  jest.restoreAllMocks();
  control.close();
  await closeApps();
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

function counts(allowed: number, denied: number, rules: MinuteCounts['rules'] = {}, minute = MINUTE) {
  const all: MinuteCounts = { minute, all: [allowed, denied, 0], rules, others: [0, 0] };
  return { minute, counts: JSON.stringify(all), mostRules: MOST_RULES };
}

async function shared(minute = MINUTE): Promise<MinuteCounts> {
  return JSON.parse((await redis.get(`${KEY}:minute:${minute}`))!) as MinuteCounts;
}

const add = (process: string, ...args: [AddedMinute, string]) =>
  new ProcessRecords(control, KEY, process).addMinute(process, ...args);

const addOf = (process: string, minute: AddedMinute) =>
  new ProcessRecords(control, KEY, process).addMinute(process, minute);

describe('a minute that processes share', () => {
  it('has the counts of each process once, also if a call is repeated after a lost reply', async () => {
    await add('one', counts(3, 1, { login: [2, 1] }), 'a');
    await add('one', counts(3, 1, { login: [2, 1] }), 'b');
    await add('other', counts(4, 2, { login: [1, 0], mail: [3, 2] }), 'c');
    expect(await shared()).toMatchObject({ all: [7, 3, 0], rules: { login: [3, 1], mail: [3, 2] } });
    expect(await redis.mget(`${KEY}:process:one`, `${KEY}:process:other`)).toEqual(['b', 'c']);
    await add('one', counts(1, 0, {}, MINUTE + 1), 'd');
    await add('one', counts(3, 1, { login: [2, 1] }), 'd');
    expect([(await shared()).all, (await shared(MINUTE + 1)).all]).toEqual([
      [7, 3, 0],
      [1, 0, 0],
    ]);
  });

  it('has the last record of a killed process once, and all its counts if it was only cut off', async () => {
    await redis.set(`${KEY}:process:cut`, 'its last record');
    await addOf('cut', counts(3, 1, { login: [3, 1] }));
    await addOf('cut', counts(3, 1, { login: [3, 1] }));
    expect(await shared()).toMatchObject({ all: [3, 1, 0], rules: { login: [3, 1] } });
    expect(await redis.get(`${KEY}:process:cut`)).toBeNull();
    await add('cut', counts(9, 2, { login: [5, 2], mail: [4, 0] }), 'back');
    await addOf('cut', counts(3, 1, { login: [3, 1] }));
    expect(await shared()).toMatchObject({ all: [9, 2, 0], rules: { login: [5, 2], mail: [4, 0] } });
  });

  it('has the 100 busiest rules, and adds the results of the rest', async () => {
    const rules = (prefix: string, busy: number) =>
      Object.fromEntries(
        Array.from({ length: 100 }, (_, nth) => [`${prefix}${nth}`, [busy, nth === 0 ? 9 : 0]]),
      );
    await add('one', counts(300, 9, rules('a', 3) as MinuteCounts['rules']), '-');
    await add('other', counts(100, 9, rules('b', 1) as MinuteCounts['rules']), '-');
    const { all, rules: kept, others } = await shared();
    expect(all).toEqual([400, 18, 0]);
    expect([Object.keys(kept).length, kept['b0'], kept['a7'], others]).toEqual([
      100,
      [1, 9],
      [3, 0],
      [102, 0],
    ]);
  });

  it('takes less than 1 MB of Redis for an hour of 100 processes and 300 rules with the longest names', async () => {
    const name = (nth: number) => `${nth}${'r'.repeat(60)}`;
    const used = async (): Promise<number> =>
      Number(/^used_memory_dataset:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    const before = await used();
    for (let minute = 0; minute < 65; minute += 1) {
      for (let nth = 0; nth < 100; nth += minute === 64 ? 1 : 33) {
        const rules = Array.from({ length: 100 }, (_, rule) => [name((nth * 3 + rule) % 300), [1000, 100]]);
        const all = counts(9e6, 9e6, Object.fromEntries(rules) as MinuteCounts['rules'], MINUTE + minute);
        await add(`process-${nth}`, all, '-');
      }
    }
    const bytes = (await used()) - before;
    if (process.env['COST']) console.info({ bytes });
    expect(bytes).toBeLessThan(1e6);
  });
});

it('counts in memory are those of the last hour, of at most 100 rules in a minute', () => {
  const minutes = new Minutes();
  for (let minute = 0; minute < 90; minute += 1) minutes.add(minute * 60, true, minute > 80);
  expect(minutes.kept.length).toBe(60);
  expect(minutes.kept.at(-1)).toMatchObject({ minute: 89, all: [1, 0, 1] });
  for (let nth = 0; nth < 150; nth += 1) minutes.addResult(90 * 60, `rule-${nth}`, nth % 2 === 0);
  minutes.addResult(0, 'rule-0', true); // The clock was set back.
  const last = minutes.kept.at(-1)!;
  expect([Object.keys(last.rules).length, last.rules['rule-0'], last.others]).toEqual([
    100,
    [2, 0],
    [25, 25],
  ]);
});

/** Starts a process of an application whose clock can be moved. */
async function start(prefix: string): Promise<DashboardApp> {
  const { host, port } = server;
  return startDashboard({ limits: { redis: { host, port }, prefix, timeout: 10_000 } });
}

async function allowedIn({ snapshot }: DashboardApp): Promise<number> {
  const { minutes } = await snapshot();
  return minutes.reduce((sum, { allowed }) => sum + allowed, 0);
}

describe('the last hour on the page', () => {
  const real = Date.now;
  let offset = 0;

  beforeEach(() => {
    offset = 0;
    const toNextMinute = 60_000 - (real() % 60_000); // No test is longer than the minute in which it starts.
    jest.spyOn(Date, 'now').mockImplementation(() => real() + toNextMinute + offset);
  });

  it('has the requests of all processes after minutes have passed, also of one that has ended', async () => {
    const [one, other] = [await start('h:'), await start('h:')];
    for (let nth = 0; nth < 3; nth += 1) await one.login(`203.0.113.${nth}`);
    for (let nth = 0; nth < 4; nth += 1) await other.login(`203.0.113.${nth}`);
    await until(async () => (await allowedIn(one)) === 7, 'the requests of both');
    offset = 60_000;
    await one.login('203.0.113.7');
    const key = `h:{instances}:minute:${Math.floor(Date.now() / 60_000) - 1}`;
    await until(async () => (await redis.exists(key)) === 1, 'the minute to be added');
    await until(async () => (await allowedIn(one)) === 8, 'the requests of both minutes');
    await other.login('203.0.113.8');
    await other.close();
    await until(async () => (await allowedIn(one)) === 9, 'the requests of the process that has ended');
    const ofRule = (await one.rule('login')).minutes.map(({ allowed, denied }) => [allowed, denied]);
    expect(ofRule).toEqual([
      [7, 0],
      [2, 0],
    ]);
    expect((await one.snapshot()).processes.length).toBe(1);
    const third = await start('h:');
    await one.close();
    await until(async () => (await allowedIn(third)) === 9, 'the requests of processes before a deploy');
    const { seconds, gaps } = await third.snapshot();
    expect(seconds.reduce((sum, { allowed }) => sum + allowed, 0)).toBeGreaterThan(0);
    expect(gaps.length).toBeGreaterThan(0);
  });

  it('has a gap where Redis has lost a minute, and no zero', async () => {
    const one = await start('g:');
    await one.login('203.0.113.7');
    offset = 60_000;
    await until(async () => (await one.snapshot()).minutes.length === 2, 'two minutes');
    const key = `g:{instances}:minute:${Math.floor(Date.now() / 60_000) - 1}`;
    await until(async () => (await redis.exists(key)) === 1, 'the minute to be added');
    await redis.flushall();
    offset = 120_000;
    const lost = Math.floor(Date.now() / 60_000) - 2;
    await until(async () => {
      const { minutes } = await one.snapshot();
      return !minutes.some(({ at }) => at === lost * 60_000) && minutes.length > 0;
    }, 'the lost minute to be a gap');
  });

  it('keeps what a process counted while Redis was down, and adds it afterwards', async () => {
    const own = await startRedisServer();
    const { host, port } = own;
    const one = await startDashboard({ limits: { redis: { host, port }, prefix: 'd:', timeout: 1000 } });
    await one.login('203.0.113.1');
    await until(async () => (await allowedIn(one)) === 1, 'the first request');
    await own.pause();
    await until(async () => (await one.snapshot()).allUntil !== null, 'the outage');
    await one.login('203.0.113.2');
    offset = 60_000;
    await one.login('203.0.113.3');
    await until(async () => (await allowedIn(one)) === 3, 'the requests meanwhile');
    await own.resume();
    await until(async () => (await one.snapshot()).allUntil === null, 'Redis', 60_000);
    await until(async () => (await allowedIn(one)) === 3, 'the requests in Redis', 60_000);
    await closeApps();
    await own.stop();
  });

  it('has a minute that could not be added at the end of its process', async () => {
    const [one, other] = [await start('f:'), await start('f:')];
    await one.login('203.0.113.1');
    await until(async () => (await allowedIn(other)) === 1, 'the request in the record');
    const key = `f:{instances}:minute:${Math.floor(Date.now() / 60_000)}`;
    await redis.lpush(key, 'a value of another type');
    offset = 60_000;
    await one.login('203.0.113.2');
    await one.close();
    await redis.del(key);
    offset = 240_000;
    const has = '"all":[1,0,0]';
    await until(async () => (await redis.get(key))?.includes(has) === true, 'the minute to be added');
    expect(await allowedIn(other)).toBe(1);
  });

  it('has minutes without requests in memory, and no gap since the process started', async () => {
    const one = await startDashboard();
    await one.login('203.0.113.7');
    offset = 3 * 60_000;
    await one.login('203.0.113.8');
    const { minutes, gaps } = await one.snapshot();
    expect(minutes.map(({ allowed }) => allowed)).toEqual([1, 0, 0, 1]);
    expect(gaps).toEqual([]);
  });
});
