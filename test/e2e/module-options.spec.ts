import { Controller, Get, Inject, Injectable, Module } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RATE_LIMIT_OPTIONS,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';

const OPTIONS: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 7, algorithm: 'fixed-window' } },
};

@Controller()
class Routes {
  @Get() get() {}
}

/** Holds the settings of an application. */
@Injectable()
class Settings {
  readonly limits = OPTIONS;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class LimitsOfSettings {
  constructor(@Inject(Settings) private readonly settings: Settings) {}

  createRateLimitOptions() {
    return this.settings.limits;
  }
}

@Module({ imports: [SettingsModule], providers: [LimitsOfSettings], exports: [LimitsOfSettings] })
class LimitsModule {}

const WAYS = {
  forRoot: RateLimitModule.forRoot(OPTIONS),
  'forRootAsync with useFactory': RateLimitModule.forRootAsync({ useFactory: () => OPTIONS }),
  'forRootAsync with a factory that promises': RateLimitModule.forRootAsync({
    imports: [SettingsModule],
    inject: [Settings],
    useFactory: async (settings: Settings) => settings.limits,
  }),
  'forRootAsync with useClass': RateLimitModule.forRootAsync({
    imports: [SettingsModule],
    useClass: LimitsOfSettings,
  }),
  'forRootAsync with useExisting': RateLimitModule.forRootAsync({
    imports: [LimitsModule],
    useExisting: LimitsOfSettings,
  }),
};

afterEach(closeApps);

describe.each(FRAMEWORKS)('the module on %s', (framework) => {
  it.each(Object.entries(WAYS))(
    'the module limits every route when it is imported by %s',
    async (_way, limits) => {
      const { get } = await startApp({ imports: [limits], controllers: [Routes] }, { framework });
      expect(limitHeaders(await get('/'))).toEqual({
        'ratelimit-policy': '"default";q=7;w=60',
        ratelimit: '"default";r=6;t=51',
      });
    },
  );

  it('the module without rules limits no request', async () => {
    const imports = [RateLimitModule.forRoot({})];
    const { get } = await startApp({ imports, controllers: [Routes] }, { framework });
    expect(limitHeaders(await get('/'))).toEqual({});
  });

  it('the module adds no route to the application', async () => {
    const { logs } = await startApp({ imports: [RateLimitModule.forRoot(OPTIONS)] }, { framework });
    expect(logs.lines.filter(({ context }) => context.startsWith('Route'))).toEqual([]);
  });

  it('the module limits routes of modules that do not import it, global or not', async () => {
    @Module({ controllers: [Routes] })
    class Feature {}
    for (const isGlobal of [true, false]) {
      const imports = [RateLimitModule.forRoot({ ...OPTIONS, isGlobal }), Feature];
      const { get } = await startApp({ imports }, { framework });
      expect(limitHeaders(await get('/'))['ratelimit-policy']).toBe('"default";q=7;w=60');
    }
  });
});

describe("the module's providers", () => {
  @Injectable()
  class Mailer {
    constructor(
      @Inject(RateLimitService) readonly limits: RateLimitService,
      @Inject(RATE_LIMIT_OPTIONS) readonly options: RateLimitModuleOptions,
    ) {}
  }
  @Module({ providers: [Mailer] })
  class MailModule {}

  it('the providers are available in every module', async () => {
    const imports = [RateLimitModule.forRoot(OPTIONS), MailModule];
    const { app } = await startApp({ imports }, { framework: 'express' });
    expect(app.get(Mailer, { strict: false }).options).toMatchObject(OPTIONS);
  });

  it('the providers are available only to importing modules with isGlobal: false', async () => {
    const limits = RateLimitModule.forRoot({ ...OPTIONS, isGlobal: false });
    expect(await refusalToStart({ imports: [limits, MailModule] })).toMatch(
      /^Nest can't resolve dependencies of the Mailer/,
    );

    @Module({ imports: [limits], exports: [RateLimitModule] })
    class LimitsForSome {}
    @Module({ imports: [LimitsForSome], providers: [Mailer] })
    class ImportingMailModule {}
    const { app } = await startApp({ imports: [ImportingMailModule] }, { framework: 'express' });
    expect(app.get(Mailer, { strict: false }).limits).toBeInstanceOf(RateLimitService);
  });
});
