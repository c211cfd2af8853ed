import { afterEach, expect, it } from '@jest/globals';
import { stopPrograms } from '../readme/node-program.js';
import { startSampleApp } from '../readme/sample-app.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard } from './dashboard-app.js';

afterEach(async () => {
  await closeApps();
  await stopPrograms();
});

it('the operations page shows a process until its report expires after it was killed', async () => {
  const prefix = uniquePrefix();
  const { snapshot } = await startDashboard({ limits: { redis: redisUrl(), prefix, timeout: 10_000 } });
  const { program } = await startSampleApp({ REDIS_URL: redisUrl(), RATE_LIMIT_PREFIX: prefix });
  const sees = (pids: readonly number[]) => async (): Promise<boolean> => {
    const { processes, problem } = await snapshot();
    return problem === null && String(processes.map(({ pid }) => pid).sort()) === String([...pids].sort());
  };
  await until(sees([process.pid, program.pid]), 'the process to be shown', 60_000);
  program.kill();
  expect(await program.ended).toBeNull();
  await until(sees([process.pid]), 'the process to vanish', 60_000);
});
