import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

@RateLimit({ window: '1h', limit: 50, algorithm: 'gcra', burst: 7, by: 'everyone', block: '5m' })
@Controller()
class Positional {
  @RateLimit('1m', 2, 'fixed-window')
  @Get('complete')
  complete() {}

  @RateLimit('1m', 3)
  @Get('default-algorithm')
  defaultAlgorithm() {}

  @RateLimit('10s', 1, 'token-bucket', { name: 'burst', by: 'ip' })
  @Get('named')
  named() {}
}

describe('@RateLimit with a window, a limit and an algorithm', () => {
  afterEach(closeApps);

  const start = () =>
    startApp({ imports: [RateLimitModule.forRoot({})], controllers: [Positional] }, { framework: 'express' });

  it('the positional form overrides the limit with all its options and inherits the subject', async () => {
    const { get } = await start();
    const policy = async (path: string) => (await get(path)).headers['ratelimit-policy'];
    expect(await policy('/complete')).toBe('"default";q=2;w=60');
    expect(await policy('/default-algorithm')).toBe('"default";q=3;w=60');
    await get('/complete');
    const denied = await get('/complete');
    expect(denied.status).toBe(429);
    // The block of five minutes is not inherited.
    expect(Number(denied.headers['retry-after'])).toBeLessThanOrEqual(60);
  });

  it('the positional form adds a rule with another name to those of the controller', async () => {
    const { get } = await start();
    expect((await get('/named')).headers['ratelimit-policy']).toBe('"burst";q=1;w=10, "default";q=7;w=504');
  });

  it.each([
    ['no limit', ['1m'], 'limit: missing'],
    ['a limit that is none', ['1m', -1], 'limit: got -1'],
    ['an algorithm that is none', ['1m', 5, 'gcar'], 'algorithm: got "gcar"'],
  ])('the positional form stops the application with %s', async (_title, given, problem) => {
    class Wrong {
      get() {}
    }
    Reflect.decorate(
      [(RateLimit as unknown as (...args: unknown[]) => MethodDecorator)(...given), Get()],
      Wrong.prototype,
      'get',
      Object.getOwnPropertyDescriptor(Wrong.prototype, 'get'),
    );
    Reflect.decorate([Controller()], Wrong);
    const refusal = await refusalToStart({ imports: [RateLimitModule.forRoot({})], controllers: [Wrong] });
    expect(refusal).toContain(problem);
  });

  it('the positional form does not compile with inconsistent arguments', () => {
    // @ts-expect-error a window has a limit
    RateLimit('1m');
    // @ts-expect-error a limit is a number
    RateLimit('1m', '5');
    // @ts-expect-error there is no such algorithm
    RateLimit('1m', 5, 'gcar');
    // @ts-expect-error the limit is given already
    RateLimit('1m', 5, 'gcra', { limit: 3 });
    // @ts-expect-error a name is followed by fields
    RateLimit('login', 5);
    // @ts-expect-error a rule is not followed by anything
    RateLimit({ window: '1m', limit: 5 }, { limit: 3 });
    // @ts-expect-error a fixed window has no burst
    RateLimit({ window: '1m', limit: 5, algorithm: 'fixed-window', burst: 3 });
    // @ts-expect-error a window has a unit
    RateLimit({ window: 60, limit: 5 });
    expect([RateLimit('login'), RateLimit('login', { limit: 3 })]).toHaveLength(2);
  });
});
