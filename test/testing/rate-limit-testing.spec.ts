import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Post, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { RateLimitTesting } from '../../lib/testing.js';

@Controller()
class LoginController {
  @Post('login')
  @RateLimit('login')
  login(): string {
    return 'welcome';
  }

  @Get('me')
  me(): string {
    return 'me';
  }
}

describe('RateLimitTesting', () => {
  let app: INestApplication;
  let limits: RateLimitTesting;

  beforeEach(async () => {
    const builder = Test.createTestingModule({
      imports: [
        RateLimitModule.forRoot({
          redis: 'redis://127.0.0.1:1', // nothing listens there
          rules: { default: { window: '1m', limit: 100 } },
          onDemand: { login: { window: '1m', limit: 2, by: 'ip', block: '1h' } },
        }),
      ],
      controllers: [LoginController],
    });
    limits = RateLimitTesting.install(builder);
    app = (await builder.compile()).createNestApplication();
    app.useLogger(false);
    await app.listen(0, '127.0.0.1');
  });

  afterEach(() => app.close());

  const login = async () => (await fetch(`${await app.getUrl()}/login`, { method: 'POST' })).status;

  it('limits with a clock that only the test advances', async () => {
    expect([await login(), await login(), await login()]).toEqual([201, 201, 429]);
    limits.advance('59m');
    expect(await login()).toBe(429);
    limits.advance('1m');
    expect(await login()).toBe(201);
  });

  it('clears every counter and every block', async () => {
    for (let nth = 0; nth < 3; nth += 1) await login();
    limits.clear();
    expect([await login(), await login(), await login()]).toEqual([201, 201, 429]);
  });

  it('counts nothing while the limits are off, and continues with the counters from before', async () => {
    await login();
    limits.off();
    for (let nth = 0; nth < 5; nth += 1) expect(await login()).toBe(201);
    limits.on();
    expect([await login(), await login()]).toEqual([201, 429]);
  });

  it('reports the permits in use of a shared rule and of a route', async () => {
    await login();
    expect(await limits.consumed('login', '127.0.0.1')).toBe(1);
    expect(await limits.consumed('login', '203.0.113.7')).toBe(0);
    const route = [LoginController, 'login'] as const;
    expect(await limits.consumed({ route, rule: 'default' }, '127.0.0.1')).toBe(1);
  });

  it('names what to call first when consumed() is called before compile()', async () => {
    const installed = RateLimitTesting.install(Test.createTestingModule({}));
    await expect(installed.consumed('login', 'me')).rejects.toThrow('call builder.compile() first');
  });

  it('rejects a builder that has been compiled, whose store cannot be replaced', async () => {
    const builder = Test.createTestingModule({});
    await builder.compile();
    expect(() => RateLimitTesting.install(builder)).toThrow('called after builder.compile()');
  });

  it('rejects a builder that has the limits of a test already, whose clock would have no effect', () => {
    const builder = Test.createTestingModule({});
    RateLimitTesting.install(builder);
    expect(() => RateLimitTesting.install(builder)).toThrow(
      'use the object that the first call has returned',
    );
  });

  it('rejects a duration without a unit in advance()', () => {
    expect(() => limits.advance('60' as '60s')).toThrow(
      /^advance: got "60": write "60s" or "60ms"; allowed: an integer with a unit/,
    );
  });
});
