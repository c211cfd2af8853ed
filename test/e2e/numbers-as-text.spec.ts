import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  MemoryStore,
  RATE_LIMIT_STORE,
  RateLimit,
  RateLimitModule,
  RateLimitService,
  type RouteRule,
} from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, startApp } from '../support/nest-app.js';

afterEach(closeApps);

/** Starts an application with one route, configured with the values of a JSON file or of the environment. */
function start(options: object, rule?: object) {
  @Controller()
  class Routes {
    @Get() get() {}
  }
  if (rule) RateLimit(rule as RouteRule)(Routes);
  const imports = [RateLimitModule.forRoot(options)];
  return startApp({ imports, controllers: [Routes] }, { framework: 'express' });
}

describe('a count that a configuration file gives as a string of digits', () => {
  const TEXT = { window: '1m', limit: '7', cost: '2', algorithm: 'gcra', burst: '9' };

  it.each<[string, object, object | undefined]>([
    ['in `rules`', { rules: { default: TEXT } }, undefined],
    ['in `defaults`', { defaults: TEXT, rules: { default: {} } }, undefined],
    ['in a decorator', {}, TEXT],
    [
      'in `overrides`',
      { rules: { default: { window: '1h', limit: 1 } }, overrides: { default: TEXT } },
      undefined,
    ],
  ])('a string of digits counts like the number %s', async (_title, options, rule) => {
    const { get } = await start(options, rule);
    expect(limitHeaders(await get('/'))).toEqual({
      'ratelimit-policy': '"default";q=9;w=78',
      ratelimit: '"default";r=7;t=17',
    });
  });

  it('maxKeys and timeout accept strings of digits', async () => {
    const options = { maxKeys: '3', timeout: '50', rules: { default: { window: '1m', limit: 5 } } };
    const { app } = await start(options);
    const limits = app.get(RateLimitService);
    for (const subject of ['a', 'b', 'c', 'd', 'e']) await limits.consume('default', subject);
    expect(app.get<MemoryStore>(RATE_LIMIT_STORE).size).toBe(3);
  });
});

describe('a block by a program', () => {
  it.each([
    [60, 'got 60: write "60s" or "60ms"'],
    ['60', 'got "60": write "60s" or "60ms"'],
    [5000, 'got 5000: write "5s" or "5000s"'],
    ['1x', 'got "1x"'],
  ])(
    'a block by a program is rejected for a duration without a unit, with both readings: %j',
    async (duration, problem) => {
      const { app } = await start({});
      const rule = { name: 'login', window: '1m', limit: 5, block: 'manual' } as const;
      await expect(app.get(RateLimitService).block(rule, 'ann', duration as '1s')).rejects.toThrow(
        `duration: ${problem}; allowed: an integer with a unit, such as "250ms"`,
      );
    },
  );
});
