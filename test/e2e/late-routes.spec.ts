import { Controller, Get, type HttpException, type INestApplication } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { ALLOWED } from '../support/config-message.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';

const FIXED = { window: '1m', limit: 1, algorithm: 'fixed-window' } as const;

interface Late {
  handle(): unknown;
}

/** Creates a class with a rule on its only handler, as a library would do after start. */
function lateClass(rule: RouteRule) {
  class Late {
    @RateLimit(rule)
    handle() {
      return 'handled';
    }
  }
  return Late;
}

@Controller('fine')
class Fine {
  @RateLimit({ ...FIXED, name: 'fine' })
  @Get()
  get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('a route that is met after start, on %s', (framework) => {
  /** Starts an application with a route `/late`, which calls a handler like a library does: through the guards. */
  const start = async () => {
    let instance: Late;
    const answer = async (app: INestApplication, request: unknown, response: unknown) => {
      const creator = app.get(ExternalContextCreator, { strict: false });
      const reply = (body: unknown, status: number): void => {
        const isSent = app.getHttpAdapter().isHeadersSent(response); // By RateLimitFilter.
        if (!isSent) app.getHttpAdapter().reply(response, body, status);
      };
      try {
        reply(await creator.create(instance, instance.handle, 'handle')(request, response), 200);
      } catch (error) {
        reply('', (error as HttpException).getStatus());
      }
    };
    const limits = RateLimitModule.forRoot({ rules: { total: { ...FIXED, limit: 100 } } });
    const configure = (app: INestApplication) =>
      void app.getHttpAdapter().get('/late', (request, response) => void answer(app, request, response));
    const metadata = { imports: [limits], controllers: [Fine] };
    const app = await startApp(metadata, { framework, configure });
    const call = async (late: Late) => {
      instance = late;
      return (await app.get('/late')).status;
    };
    const errors = () => app.logs.ours().filter(({ level }) => level === 'error');
    return { ...app, call, errors };
  };

  it('a route found after start is limited by its rules', async () => {
    const { call } = await start();
    const late = new (lateClass({ ...FIXED, name: 'late' }))();
    expect([await call(late), await call(late)]).toEqual([200, 429]);
  });

  it.each<[string, RouteRule, string]>([
    ['has a wrong value', { ...FIXED, name: 'late', limit: -1 }, 'limit: got -1'],
    ['lacks its window', { name: 'late', limit: 5 }, 'window: missing'],
    ['contradicts itself', { ...FIXED, name: 'late', cost: 2 }, 'cost: got 2'],
    ['is no rule', null as never, '@RateLimit on Late.handle: got null'],
  ])(
    'a late route whose rule %s gets a 500, is logged once with the reason, and affects no other route',
    async (_title, rule, reason) => {
      const { call, errors, get } = await start();
      const late = new (lateClass(rule))();
      expect([await call(late), await call(late)]).toEqual([500, 500]);
      expect(errors().map(({ message }) => message)).toEqual([
        expect.stringMatching(/^Late.handle answers 500, since its rules are wrong: .+; allowed: /),
      ]);
      expect(errors()[0]!.message).toContain(reason);
      const good = new (lateClass({ ...FIXED, name: 'good' }))();
      expect([await call(good), await call(good)]).toEqual([200, 429]);
      expect([(await get('/fine')).status, (await get('/fine')).status]).toEqual([200, 429]);
    },
  );

  it('a route whose class comes from a factory is checked at start', async () => {
    const Late = lateClass({ ...FIXED, limit: -1 });
    const providers = [{ provide: 'late', useFactory: () => new Late() }];
    expect(await refusalToStart({ imports: [RateLimitModule.forRoot({})], providers })).toContain(
      `@RateLimit on Late.handle.limit: got -1; allowed: ${ALLOWED.limit}`,
    );
  });
});
