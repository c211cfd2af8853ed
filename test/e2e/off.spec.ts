import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { RateLimit, RateLimitHealth, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { startApp } from '../support/nest-app.js';

@Controller()
class NewsController {
  @Get()
  @RateLimit('1m', 1)
  list(): string {
    return 'news';
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
  controllers: [NewsController],
})
class NewsModule {}

describe('RATE_LIMIT=off', () => {
  afterEach(() => {
    delete process.env.RATE_LIMIT;
  });

  it('RATE_LIMIT=off allows every request without Redis, with a warning in log and health', async () => {
    process.env.RATE_LIMIT = 'off';
    const started = await startApp({ imports: [NewsModule] }, { framework: 'express' });
    try {
      for (let nth = 0; nth < 3; nth += 1) expect((await started.get('/')).status).toBe(200);
      const limits = started.app.get(RateLimitService);
      const rule = { name: 'none', window: '1m', limit: 0 } as const;
      expect(await limits.consume(rule, 'me')).toMatchObject({ allowed: true });
      const { rateLimit } = await started.app.get(RateLimitHealth).isHealthy();
      expect(rateLimit.warnings).toContain('RL_OFF');
      expect(started.logs.ours()).toContainEqual({
        level: 'warn',
        message: expect.stringContaining('RATE_LIMIT=off is set: every request is allowed'),
      });
    } finally {
      await started.close();
    }
  });
});
