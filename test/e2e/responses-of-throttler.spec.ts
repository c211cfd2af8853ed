import { Controller, Get, Inject, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitExceededException,
  RateLimitModule,
  RateLimitService,
  type Decision,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp, type Framework } from '../support/nest-app.js';

@Controller()
class Orders {
  constructor(@Inject(RateLimitService) private readonly limits: RateLimitService) {}

  @RateLimit({ limit: 2, window: '1m' })
  @RateLimit({ name: 'my long', limit: 1, window: '1h' })
  @Get('both')
  both() {}

  @RateLimit({ limit: 1, window: '1m' })
  @Get('one')
  one() {}

  @RateLimit({ limit: 100, window: '1m' })
  @Get('thrown')
  async thrown(): Promise<void> {
    const decision = await this.limits.consume({ name: 'mail', limit: 0, window: '1m' }, 'ann');
    throw new RateLimitExceededException(decision);
  }
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('responses for front ends of @nestjs/throttler, on %s', (framework: Framework) => {
  const start = (options: RateLimitModuleOptions) =>
    startApp({ imports: [RateLimitModule.forRoot(options)], controllers: [Orders] }, { framework });

  it("headers: 'throttler' has headers for each rule with seconds to go, and the rule's name as a suffix", async () => {
    const { get } = await start({ headers: 'throttler' });
    const allowed = await get('/both');
    expect(allowed.headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '60',
      'x-ratelimit-limit-my-long': '1',
      'x-ratelimit-remaining-my-long': '0',
      'x-ratelimit-reset-my-long': '3600',
    });
    expect(allowed.headers['ratelimit-policy']).toBeUndefined();
    const denied = await get('/both');
    expect(denied.status).toBe(429);
    expect(denied.headers).toMatchObject({
      'retry-after': '3600',
      'retry-after-my-long': '3600',
      'x-ratelimit-remaining': '1',
    });
  });

  it("body: 'nest' is the body of Nest's own exceptions", async () => {
    const { get } = await start({ body: 'nest' });
    await get('/one');
    const { headers, body } = await get('/one');
    expect(headers['content-type']).toContain('application/json');
    expect(JSON.parse(body)).toEqual({
      statusCode: 429,
      message: expect.stringMatching(/^Rule "default" allows 1 per 1 m; try again in (1 m|\d+ s)\.$/),
      error: 'Too Many Requests',
    });
    const thrown = JSON.parse((await get('/thrown')).body) as object;
    expect(thrown).toEqual({
      statusCode: 429,
      message: 'Rule "mail" allows 0 per 1 m; waiting will not help.',
      error: 'Too Many Requests',
    });
  });

  it("body: 'nest' is also the body of a 503", async () => {
    const { get } = await start({ body: 'nest', redis: 'redis://127.0.0.1:1', onStoreError: 'deny' });
    expect(JSON.parse((await get('/one')).body)).toMatchObject({
      statusCode: 503,
      error: 'Service Unavailable',
    });
  });

  it('body receives the ExecutionContext, also for an exception that the handler throws', async () => {
    const body = ({ rule }: Decision, context: ExecutionContext) =>
      `${rule} on ${context.getClass().name}.${context.getHandler().name}`;
    const { get } = await start({ body });
    await get('/one');
    expect((await get('/one')).body).toContain('default on Orders.one');
    expect((await get('/thrown')).body).toContain('mail on Orders.thrown');
  });
});
