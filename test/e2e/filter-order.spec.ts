import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Module,
  UseFilters,
  type ArgumentsHost,
  type ExecutionContext,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, BaseExceptionFilter } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimitExceededException,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitModule,
  type Decision,
} from '../../lib/index.js';
import type { RateLimitModuleExtras } from '../../lib/nest/rate-limit.options.js';
import { closeApps, FRAMEWORKS, startApp, type AppSetup } from '../support/nest-app.js';

/** An application's filter for all exceptions, which records them and lets Nest respond. */
@Catch()
class OwnFilter extends BaseExceptionFilter {
  static seen: unknown[] = [];

  override catch(exception: unknown, host: ArgumentsHost): void {
    OwnFilter.seen.push(exception);
    super.catch(exception, host);
  }
}

@Catch(RateLimitExceededException)
class ExactFilter extends OwnFilter {}

/** Counts denied requests, and lets RateLimitFilter respond. */
@Catch(RateLimitExceededException)
class CountingFilter extends RateLimitFilter {
  static denied = 0;

  override catch(exception: Parameters<RateLimitFilter['catch']>[0], host: ArgumentsHost) {
    CountingFilter.denied += 1;
    return super.catch(exception, host);
  }
}

@Catch(RateLimitExceededException)
class OtherCountingFilter extends CountingFilter {}

class QuotaException extends RateLimitExceededException {}

@Catch(HttpException)
class HttpExceptionFilter extends OwnFilter {}

function moduleOf(provider: Provider): Type {
  @Module({ providers: [provider] })
  class OfProvider {}
  return OfProvider;
}

const own = { provide: APP_FILTER, useClass: OwnFilter };

@Module({ providers: [own] })
class OwnFilterModule {}

@Controller()
class Routes {
  @Get() get() {}
}

@UseFilters(OwnFilter)
@Controller()
class FilteredRoutes {
  @Get() get() {}
}

@UseFilters(RateLimitFilter)
@Controller()
class OurRoutes {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('the filter that answers a denied request, on %s', (framework) => {
  const limits = (extras: RateLimitModuleExtras = {}) =>
    RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 0 } }, ...extras });

  async function denied(metadata: Parameters<typeof startApp>[0], configure?: AppSetup['configure']) {
    OwnFilter.seen = [];
    const setup = { framework, ...(configure && { configure }) };
    const app = await startApp({ controllers: [Routes], ...metadata }, setup);
    const { status, headers } = await app.get('/');
    const isSeen = OwnFilter.seen.some((exception) => exception instanceof RateLimitExceededException);
    return { status, isSeen, type: headers['content-type']?.split(';')[0] };
  }

  const BY_US = { status: 429, isSeen: false, type: 'application/problem+json' };
  const BY_OWN = { status: 429, isSeen: true, type: 'application/json' };

  const module = (type: Type) => type;

  it.each([
    ['of the root module', () => ({ imports: [limits()], providers: [own] })],
    ['of a module imported before', () => ({ imports: [module(OwnFilterModule), limits()] })],
  ])('RateLimitFilter handles a denied request instead of an APP_FILTER %s', async (_title, metadata) => {
    expect(await denied(metadata())).toEqual(BY_US);
  });

  it.each([
    ['of the root module', (exact: Provider) => ({ imports: [limits()], providers: [exact] })],
    ['of a module imported before', (exact: Provider) => ({ imports: [moduleOf(exact), limits()] })],
    ['of a module imported after', (exact: Provider) => ({ imports: [limits(), moduleOf(exact)] })],
  ])('an APP_FILTER %s for exactly this exception handles a denied request', async (_title, metadata) => {
    expect(await denied(metadata({ provide: APP_FILTER, useClass: ExactFilter }))).toEqual(BY_OWN);
  });

  it.each([[[CountingFilter]], [[CountingFilter, OtherCountingFilter]]])(
    'a filter of the application that extends RateLimitFilter is called once, and responds: %p',
    async (filters) => {
      CountingFilter.denied = 0;
      const providers = filters.map((useClass) => ({ provide: APP_FILTER, useClass }));
      expect(await denied({ imports: [limits()], providers })).toEqual(BY_US);
      expect(CountingFilter.denied).toBe(1);
    },
  );

  it('RateLimitFilter on a controller responds, although a global filter is for exactly this exception', async () => {
    const providers = [{ provide: APP_FILTER, useClass: ExactFilter }];
    expect(await denied({ imports: [limits()], providers, controllers: [OurRoutes] })).toEqual(BY_US);
  });

  it('an APP_FILTER for exactly this exception handles a subclass of it, which a guard has thrown', async () => {
    @Injectable()
    class ThrowingGuard extends RateLimitGuard {
      protected override deny(_context: ExecutionContext, decision: Decision): never {
        throw new QuotaException(decision);
      }
    }
    const providers = [
      { provide: APP_FILTER, useClass: ExactFilter },
      { provide: APP_GUARD, useClass: ThrowingGuard },
    ];
    const metadata = { imports: [limits({ registerGuard: false })], providers };
    expect(await denied(metadata)).toEqual(BY_OWN);
  });

  it('an APP_FILTER for HTTP exceptions does not handle a denied request', async () => {
    const filter = { provide: APP_FILTER, useClass: HttpExceptionFilter };
    expect(await denied({ imports: [limits()], providers: [filter] })).toEqual(BY_US);
  });

  it('an APP_FILTER of a module imported after RateLimitModule handles a denied request', async () => {
    expect(await denied({ imports: [limits(), OwnFilterModule] })).toEqual(BY_OWN);
  });

  it('a filter of the controller handles a denied request', async () => {
    expect(await denied({ imports: [limits()], controllers: [FilteredRoutes] })).toEqual(BY_OWN);
  });

  it('a filter passed to useGlobalFilters handles a denied request', async () => {
    const configure: AppSetup['configure'] = (app) =>
      void app.useGlobalFilters(new OwnFilter(app.getHttpAdapter()));
    expect(await denied({ imports: [limits()] }, configure)).toEqual(BY_OWN);
  });

  it.each([
    ['of the root module', () => ({ imports: [limits({ registerFilter: false })], providers: [own] })],
    [
      'of a module imported before',
      () => ({ imports: [module(OwnFilterModule), limits({ registerFilter: false })] }),
    ],
  ])('an APP_FILTER %s handles a denied request with registerFilter: false', async (_title, metadata) => {
    expect(await denied(metadata())).toEqual(BY_OWN);
  });

  it('Nest handles a denied request with registerFilter: false and no other filter', async () => {
    expect(await denied({ imports: [limits({ registerFilter: false })] })).toEqual({
      ...BY_OWN,
      isSeen: false,
    });
  });

  it('RateLimitFilter can be added to a controller with registerFilter: false', async () => {
    const metadata = { imports: [limits({ registerFilter: false })], controllers: [OurRoutes] };
    expect(await denied(metadata)).toEqual(BY_US);
  });

  it('RateLimitFilter is registered with options from a factory unless registerFilter is false', async () => {
    const rules = { default: { window: '1m', limit: 0 } } as const;
    const factory = (extras: RateLimitModuleExtras) =>
      RateLimitModule.forRootAsync({ useFactory: () => ({ rules }), ...extras });
    expect(await denied({ imports: [factory({})], providers: [own] })).toEqual(BY_US);
    await closeApps();
    expect(await denied({ imports: [factory({ registerFilter: false })], providers: [own] })).toEqual(BY_OWN);
  });
});
