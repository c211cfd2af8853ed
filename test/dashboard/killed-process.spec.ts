import { afterEach, describe, expect, it } from '@jest/globals';
import { stopPrograms } from '../readme/node-program.js';
import { startSampleApp, type SampleApp } from '../readme/sample-app.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard, type DashboardApp } from './dashboard-app.js';

const WAIT = 60_000;

afterEach(async () => {
  await closeApps();
  await stopPrograms();
});

/** The responses of the clients, and what the page has counted. */
interface Figures {
  allowed: number;
  denied: number;
}

/** Sends requests of new clients, each until one is denied, and counts the responses. */
async function send({ origin }: SampleApp, clients: number, counted: Figures): Promise<void> {
  for (let nth = 0; nth < clients; nth += 1) {
    for (let status = 0; status !== 429;) {
      const body = JSON.stringify({ user: 'ada', password: 'wrong' });
      const headers = { 'content-type': 'application/json' };
      ({ status } = await fetch(`${origin}/login`, { method: 'POST', headers, body }));
      counted[status === 429 ? 'denied' : 'allowed'] += 1;
    }
  }
}

function figuresOf(list: readonly Figures[]): Figures {
  return list.reduce(
    (sum, { allowed, denied }) => ({ allowed: sum.allowed + allowed, denied: sum.denied + denied }),
    { allowed: 0, denied: 0 },
  );
}

async function untilCounted({ snapshot }: DashboardApp, counted: Figures): Promise<void> {
  const found: unknown[] = [];
  const isCounted = async (): Promise<boolean> => {
    const { minutes, seconds } = await snapshot();
    found.splice(0, 2, figuresOf(minutes), figuresOf(seconds));
    return found.every((each) => JSON.stringify(each) === JSON.stringify(counted));
  };
  await until(isCounted, `${JSON.stringify(counted)} to be counted`, WAIT).catch(() => undefined);
  expect(found).toEqual([counted, counted]);
}

describe('the operations page, with processes of their own', () => {
  it('has what clients counted after a process was killed and another one restarted, and states which one is silent', async () => {
    const prefix = uniquePrefix();
    const limits = { redis: redisUrl(), prefix, timeout: 10_000 };
    const variables = { REDIS_URL: redisUrl(), RATE_LIMIT_PREFIX: prefix, RATE_LIMIT_TIMEOUT: '5000' };
    const app = await startDashboard({ limits });
    const [first, second] = await Promise.all([startSampleApp(variables), startSampleApp(variables)]);
    const counted = { allowed: 0, denied: 0 };
    await send(first, 1, counted);
    await send(second, 3, counted);
    await untilCounted(app, counted);

    first.program.kill();
    await first.program.ended;
    const row = async () =>
      (await app.snapshot()).processes.find(({ pid }) => pid === first.program.pid)?.silentSince;
    await until(async () => typeof (await row()) === 'number', 'the killed process to be silent', WAIT);
    await untilCounted(app, counted);
    expect((await app.rule('login')).allowed).toBeLessThan(1); // No rate of now.

    await second.program.stop();
    const third = await startSampleApp(variables);
    await send(third, 2, counted);
    await untilCounted(app, counted);
    const { processes } = await app.snapshot();
    expect(processes.map(({ pid }) => pid).sort()).toEqual(
      [process.pid, first.program.pid, third.program.pid].sort(),
    );
  });

  it('shows a stopped process as silent, and as reporting again when it continues', async () => {
    const prefix = uniquePrefix();
    const app = await startDashboard({ limits: { redis: redisUrl(), prefix, timeout: 10_000 } });
    const { program } = await startSampleApp({ REDIS_URL: redisUrl(), RATE_LIMIT_PREFIX: prefix });
    const silentSince = async () =>
      (await app.snapshot()).processes.find(({ pid }) => pid === program.pid)?.silentSince;
    await until(async () => (await silentSince()) === null, 'the process to report', WAIT);
    process.kill(program.pid, 'SIGSTOP');
    const stoppedAt = Date.now();
    await until(async () => typeof (await silentSince()) === 'number', 'the process to be silent', WAIT);
    expect(Math.abs((await silentSince())! - stoppedAt)).toBeLessThan(3000);
    process.kill(program.pid, 'SIGCONT');
    await until(async () => (await silentSince()) === null, 'the process to report again', WAIT);
  });
});
