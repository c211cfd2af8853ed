import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Control } from '../../lib/stores/redis/link/control.js';
import { ProcessRecords } from '../../lib/stores/redis/link/process-records.js';
import { startDashboard } from './dashboard-app.js';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { textOf } from '../readme/code-blocks.js';
import { askServer } from '../support/redis/ask-server.js';

const PROCESSES = 10;
const SECONDS = 20;
const LARGEST_REPORT = JSON.stringify('x'.repeat(56 * 1024));

/** The user in docs/operations.md. */
const [, USER = ''] = /^(user limiter .*)$/m.exec(textOf('docs/operations.md')) ?? [];

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedisServer({ config: [USER] });
  redis = new Redis(server.port, server.host);
});

afterAll(async () => {
  await closeApps();
  redis.disconnect();
  await server.stop();
});

/** The processor time of the server, in microseconds: commands, and reading and writing of connections. */
async function processorTime(): Promise<number> {
  const times = (await redis.info('cpu')).matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm);
  return Array.from(times, ([, seconds]) => Number(seconds) * 1e6).reduce((sum, usec) => sum + usec, 0);
}

/** The time that the server has spent in commands, in microseconds. */
async function commandTime(): Promise<number> {
  const lines = (await redis.info('commandstats')).matchAll(/^cmdstat_(\w+):.*?usec=(\d+)/gm);
  return Array.from(lines, ([, name, usec]) => (name === 'info' ? 0 : Number(usec))).reduce(
    (sum, usec) => sum + usec,
    0,
  );
}

describe('the operations page', () => {
  it('takes less than 1 % of the time of Redis, with ten processes that publish and read the largest reports', async () => {
    const control = new Control(server.url);
    for (let nth = 0; nth < PROCESSES; nth += 1) await redis.zadd('c:{dashboard}', nth, `p${nth}`);
    const records = Array.from(
      { length: PROCESSES },
      (_, nth) => new ProcessRecords(control, 'c:{dashboard}', `p${nth}`),
    );
    const second = async (): Promise<void> => {
      for (const each of records) await each.publish(LARGEST_REPORT, 'k');
      for (const each of records) expect((await each.read([])).records).toHaveLength(PROCESSES);
    };
    await second();
    const before = [await commandTime(), await processorTime()] as const;
    for (let nth = 0; nth < SECONDS; nth += 1) await second();
    const inCommands = ((await commandTime()) - before[0]) / SECONDS;
    const inAll = ((await processorTime()) - before[1]) / SECONDS;
    control.close();
    if (process.env['COST']) console.info({ inCommands, inAll });
    expect(inCommands).toBeLessThan(10_000);
  });

  it('needs no other rights than the limiter', async () => {
    const limits = {
      redis: { host: server.host, port: server.port, username: 'limiter', password: 'secret' },
      prefix: 'rl:',
      timeout: 10_000,
    };
    const one = await startDashboard({ limits });
    const other = await startDashboard({ limits });
    await until(async () => (await one.snapshot()).processes.length === 2, 'both processes to be seen');
    await one.login('203.0.113.7');
    expect((await one.change('rules/preview', { rule: 'login', fields: { limit: 1 } })).status).toBe(200);
    const [{ id } = { id: '' }] = (await one.rule('login')).top;
    expect(id).toBe('');
    await other.close();
    await until(async () => (await one.snapshot()).processes.length === 1, 'the process to vanish');
    const log = (await askServer(server, 'ACL', 'LOG')) as unknown[][];
    const objects = log.map((fields) => String(fields[fields.indexOf('object') + 1]));
    expect(objects.filter((object) => !object.startsWith('client|'))).toEqual([]);
  });
});
