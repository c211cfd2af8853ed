import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitModule } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';

const LIMIT = 50;
const REQUESTS = 500;

@Controller()
class Routes {
  @Get() get() {}
}

afterEach(closeApps);

// On a busy machine, Redis may not run for longer than the default timeout of 50 ms: see burst.spec.ts.
const TIMEOUT_MS = 500;

describe.each(FRAMEWORKS)('a burst of requests, on %s', (framework) => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });

  afterAll(() => server.stop());

  it('exactly 50 of 500 concurrent requests are allowed on an application that has just started', async () => {
    const module = RateLimitModule.forRoot({
      redis: server.url,
      onStoreError: 'allow',
      timeout: TIMEOUT_MS,
      rules: { default: { window: '1h', limit: LIMIT, algorithm: 'gcra' } },
    });
    const { get } = await startApp({ imports: [module], controllers: [Routes] }, { framework });
    const answers = await Promise.all(Array.from({ length: REQUESTS }, () => get('/')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(REQUESTS - LIMIT);
  }, 120_000);
});
