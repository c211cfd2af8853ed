import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimitHealth, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const HOUR_MS = 3_600_000;

afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

async function startWithClock(aheadMs: number) {
  const real = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => real() + aheadMs);
  const rules = { default: { limit: 1, window: '1d', algorithm: 'gcra' } } as const;
  const limits = RateLimitModule.forRoot({
    redis: redisUrl(),
    timeout: 10_000,
    prefix: uniquePrefix(),
    rules,
  });
  const { app, logs } = await startApp({ imports: [limits] }, { framework: 'express' });
  const { instances } = (await app.get(RateLimitHealth).isHealthy()).rateLimit;
  expect(instances).toBe(1);
  const lines = () => logs.ours().filter(({ message }) => message.includes('RL_CLOCKS_DIFFER'));
  return { app, lines };
}

describe('the clocks of Redis and of a process', () => {
  it('are one warning in log and health if they differ by more than a minute', async () => {
    const { app, lines } = await startWithClock(-HOUR_MS);
    while (lines().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(lines().map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^The clock of Redis is 3600 s ahead of the clock of this process\. Limits follow/,
      ),
    ]);
    expect((await app.get(RateLimitHealth).isHealthy()).rateLimit.warnings).toContain('RL_CLOCKS_DIFFER');
  });

  it('are no warning if they differ by half a minute', async () => {
    const { app, lines } = await startWithClock(30_000);
    await app.get(RateLimitHealth).isHealthy();
    expect(lines()).toEqual([]);
  });
});
