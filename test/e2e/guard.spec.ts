import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitGuard, RateLimitModule } from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

const OPTIONS = { rules: { default: { window: '1m', limit: 2, algorithm: 'fixed-window' } } } as const;

@UseGuards(RateLimitGuard)
@Controller('guarded')
class GuardedController {
  @Get() get() {}

  @UseGuards(RateLimitGuard)
  @Get('twice')
  twice() {}
}

@Module({ controllers: [GuardedController] })
class GuardedFeature {}

@Controller('open')
class OpenController {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('the guard on %s', (framework) => {
  const parts = (extras: object = {}) => ({
    imports: [RateLimitModule.forRoot({ ...OPTIONS, ...extras }), GuardedFeature],
    controllers: [OpenController],
  });

  it.each([
    ['globally only', '/open'],
    ['again on the controller', '/guarded'],
    ['again on the controller and the handler', '/guarded/twice'],
  ])('a guard that is registered %s counts a request once', async (_title, path) => {
    const { get } = await startApp(parts(), { framework });
    const statuses = [];
    for (let nth = 1; nth <= 3; nth++) statuses.push((await get(path)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('a guard that is also added by useGlobalGuards counts a request once', async () => {
    const { get } = await startApp(parts(), {
      framework,
      configure: (app) => app.useGlobalGuards(app.get(RateLimitGuard)),
    });
    expect(limitHeaders(await get('/open'))['ratelimit']).toBe('"default";r=1;t=30');
  });

  it('the guard runs only where @UseGuards adds it with registerGuard: false', async () => {
    const { get } = await startApp(parts({ registerGuard: false }), { framework });
    expect(limitHeaders(await get('/open'))).toEqual({});
    const statuses = [];
    for (let nth = 1; nth <= 3; nth++) statuses.push((await get('/guarded')).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('tests can replace the guard everywhere by its provider', async () => {
    const { get } = await startApp(parts(), {
      framework,
      prepare: (builder) => builder.overrideProvider(RateLimitGuard).useValue({ canActivate: () => true }),
    });
    expect(limitHeaders(await get('/open'))).toEqual({});
  });

  it('tests can override the guard where @UseGuards added it', async () => {
    const { get } = await startApp(parts({ registerGuard: false }), {
      framework,
      prepare: (builder) => builder.overrideGuard(RateLimitGuard).useValue({ canActivate: () => true }),
    });
    expect(limitHeaders(await get('/guarded'))).toEqual({});
  });

  it('the guard leaves requests without a handler to the framework', async () => {
    const { get } = await startApp(parts(), { framework });
    for (let nth = 1; nth <= 3; nth++) {
      const answer = await get('/nothing');
      expect([answer.status, limitHeaders(answer)]).toEqual([404, {}]);
    }
  });
});
