import { afterEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard } from './dashboard-app.js';

/** The report of a process with a later version of the package, without the parts whose form a test chooses. */
const LATER = {
  ...{ version: 9, package: '9.1.0', host: 'later', keptMs: 65 * 60_000, since: 1_800_000_000_000 },
  ...{ span: 9.5, uncounted: 0, durations: [], sources: [8, 1, 0, 0, 7], liveRules: '7' },
  ...{
    servers: [['redis:6379', 'closed', 'with another field']],
    problems: ['A problem of later versions.'],
  },
  mood: { fine: true },
};

let redis: Redis;

afterEach(async () => {
  redis.disconnect();
  await closeApps();
});

it('the page shows processes of later versions as such, with the figures that it can read, and goes on', async () => {
  const prefix = uniquePrefix();
  redis = new Redis(redisUrl());
  const { login, snapshot, rule } = await startDashboard({
    limits: { redis: redisUrl(), prefix, timeout: 10_000 },
  });
  await login('203.0.113.7');
  const second = Math.floor(Date.now() / 1000) + 1;
  const login9 = { rule: 'login', allowed: [0, 4], denied: [0, 2], wouldDeny: 0, trialDeny: 0, routes: [] };
  const reports = {
    readable: {
      ...{ ...LATER, id: 'readable', pid: 9001, second, allowed: [4], denied: [2] },
      rules: [
        { ...login9, top: [], rest: 0, colour: 'red' },
        { ...login9, rule: 'default', top: [{ of: 'another form' }], rest: 0 },
      ],
      minute: { minute: 'in another form' },
    },
    curved: { ...LATER, id: 'curved', pid: 9002, second, allowed: 'a curve', denied: [], rules: [] },
    named: {
      ...LATER,
      id: 'named',
      pid: 9003,
      second,
      allowed: [4],
      denied: [2],
      rules: [],
      host: { name: 'h' },
    },
    served: {
      ...LATER,
      id: 'served',
      pid: 9004,
      second,
      allowed: [4],
      denied: [2],
      rules: [],
      servers: [{}],
    },
  };
  const publish = async () => {
    for (const [id, report] of Object.entries(reports)) {
      await redis.zadd(`${prefix}{instances}:writers`, Date.now(), `k ${id}`);
      await redis.set(`${prefix}{instances}:process:${id}`, JSON.stringify(report), 'PX', LATER.keptMs);
    }
  };
  const later = async () => {
    await publish();
    return (await snapshot()).processes.find(({ pid }) => pid === 9001);
  };
  await until(async () => (await later()) !== undefined, 'the process of a later version');
  expect(await later()).toMatchObject({
    host: 'later',
    version: '9.1.0',
    circuit: 'closed',
    silentSince: null,
  });
  const { problems, seconds, minutes, allUntil } = await snapshot();
  expect(problems.map(({ text }) => text)).toEqual([
    'Reports that cannot be read, since another version of the package writes another form: 3.',
    'A problem of later versions.',
  ]);
  const sum = (of: readonly { allowed: number; denied: number }[]) =>
    of.reduce(([allowed, denied], each) => [allowed! + each.allowed, denied! + each.denied], [0, 0]);
  expect([sum(seconds), sum((await rule('login')).seconds), sum(minutes)]).toEqual([
    [5, 2],
    [5, 2],
    [1, 0],
  ]);
  expect(allUntil).toBeNull();
});
