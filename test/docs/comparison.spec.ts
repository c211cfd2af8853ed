import { existsSync } from 'node:fs';
import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';
import { pathOf } from '../readme/code-blocks.js';
import { membersOf, tableOf } from '../readme/tables.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { policiesOf } from '../support/route-policies.js';

const PAGE = 'docs/migration.md';
const THROTTLER = 'bench/node_modules/@nestjs/throttler/dist/throttler-module-options.interface.d.ts';

afterEach(closeApps);

describe(PAGE, () => {
  // The compared packages are installed with `npm ci --prefix bench`, not with this package.
  (existsSync(pathOf(THROTTLER)) ? it : it.skip).each([
    ['option of a throttler', 'ThrottlerOptions'],
    ['option of the module', 'ThrottlerModuleOptions'],
  ])('docs/migration.md maps each %s of @nestjs/throttler', (title, type) => {
    const mapped = tableOf(PAGE, title).flatMap((row) => row[title]!.split(' '));
    expect(mapped.toSorted()).toEqual([...membersOf(THROTTLER, type).keys()].toSorted());
  });
});

describe.each(FRAMEWORKS)('an application that moves from @nestjs/throttler, on %s', (framework) => {
  const rules = { short: { window: '1s', limit: 3 }, default: { window: '1m', limit: 100 } } as const;

  it('a method can be limited again in a class that skips the rule', async () => {
    @SkipRateLimit()
    @Controller()
    class Reports {
      @RateLimit({ name: 'short', limit: 1 })
      @Get('another-limit')
      another() {}
      @RateLimit({})
      @Get('same-limit')
      same() {}
    }
    const policies = await policiesOf(framework, [Reports], ['/another-limit', '/same-limit'], { rules });
    expect(policies).toEqual(['"short";q=1;w=1', '"default";q=100;w=60']);
  });

  it('an application can keep the header names and the 429 body of @nestjs/throttler', async () => {
    const body = { statusCode: 429, message: 'ThrottlerException: Too Many Requests' };
    @RateLimit({ window: '1m', limit: 1 })
    @Controller()
    class Orders {
      @Get() get() {}
    }
    const limits = RateLimitModule.forRoot({ headers: 'legacy', body: () => body });
    const { get } = await startApp({ imports: [limits], controllers: [Orders] }, { framework });
    expect((await get('/')).headers['x-ratelimit-limit']).toBe('1');
    const denied = await get('/');
    expect([denied.status, JSON.parse(denied.body)]).toEqual([429, body]);
  });
});
