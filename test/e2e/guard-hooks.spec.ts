import {
  Controller,
  Get,
  HttpException,
  Inject,
  Injectable,
  UseGuards,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type Decision,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { said } from '../support/door-app.js';
import { closeApps, FRAMEWORKS, startApp, type Framework, type TestApp } from '../support/nest-app.js';

const ONCE = { window: '1m', limit: 1, algorithm: 'fixed-window' } as const;

@Injectable()
class Tariff {
  readonly message = 'slow down';
}

@Injectable()
class HookedGuard extends RateLimitGuard {
  @Inject(Tariff) private readonly tariff!: Tariff;

  protected override subjectOf(context: ExecutionContext, rule: string) {
    const tenant = said(context, 'x-tenant');
    return tenant && `${rule} ${tenant}`;
  }

  protected override shouldSkip(context: ExecutionContext) {
    return said(context, 'x-probe') === 'yes';
  }

  protected override deny(_context: ExecutionContext, { rule }: Decision) {
    throw new HttpException(`${this.tariff.message}: ${rule}`, 418);
  }
}

interface Setup {
  readonly framework: Framework;
  readonly way?: (typeof WAYS)[number];
  readonly options?: RateLimitModuleOptions;
  readonly registerGuard?: boolean;
}

const WAYS = ['as an APP_GUARD', 'by @UseGuards', 'by useGlobalGuards'] as const;

/** Starts an application with one route, `/`, which allows each subject one request. */
function start(guard: Type<RateLimitGuard>, setup: Setup): Promise<TestApp> {
  const { framework, way = 'as an APP_GUARD', options = { rules: { default: ONCE } } } = setup;
  const { registerGuard = false } = setup;
  @Controller()
  class Routes {
    @Get() get() {}
  }
  if (way === 'by @UseGuards') UseGuards(guard)(Routes);
  const asAppGuard = way === 'as an APP_GUARD' ? [{ provide: APP_GUARD, useExisting: guard }] : [];
  return startApp(
    {
      imports: [RateLimitModule.forRoot({ ...options, registerGuard })],
      controllers: [Routes],
      providers: [Tariff, guard, ...asAppGuard],
    },
    {
      framework,
      configure: (app) => {
        if (way === 'by useGlobalGuards') app.useGlobalGuards(app.get(guard));
      },
    },
  );
}

async function statuses({ get }: TestApp, ...headers: Record<string, string>[]): Promise<number[]> {
  const found: number[] = [];
  for (const each of headers) found.push((await get('/', each)).status);
  return found;
}

function warningsOf({ logs }: TestApp): string[] {
  return logs
    .ours()
    .filter(({ level }) => level === 'warn')
    .map(({ message }) => message);
}

const [ada, bob, probe] = [{ 'x-tenant': 'ada' }, { 'x-tenant': 'bob' }, { 'x-probe': 'yes' }];

afterEach(closeApps);

describe.each(FRAMEWORKS)('a guard that overrides hooks on %s', (framework) => {
  it.each(WAYS)('the three hooks of a guard work when it is registered %s', async (way) => {
    const app = await start(HookedGuard, { framework, way });
    expect(await statuses(app, ada, ada, bob, {}, {}, probe)).toEqual([200, 418, 200, 200, 418, 200]);
    const denied = await app.get('/', ada);
    expect(denied.body).toContain('slow down: default');
    expect(denied.headers['retry-after']).toBeDefined();
    expect((await app.get('/', probe)).headers['ratelimit']).toBeUndefined();
    expect(warningsOf(app)).toEqual([]);
  });

  it('hooks can be asynchronous class fields, also for rules with several conditions', async () => {
    @Injectable()
    class FieldGuard extends RateLimitGuard {
      protected override subjectOf = async (context: ExecutionContext, rule: string) =>
        Promise.resolve(rule === 'tenant' ? said(context, 'x-tenant') : undefined);
      protected override shouldSkip = async (context: ExecutionContext) =>
        Promise.resolve(said(context, 'x-probe') === 'yes');
      protected override deny = async () => Promise.reject(new HttpException('no', 418));
    }
    const rules = {
      tenant: { ...ONCE, skipIf: () => false },
      address: { ...ONCE, limit: 2 },
    };
    const app = await start(FieldGuard, { framework, options: { rules } });
    expect(await statuses(app, ada, ada, bob, probe, { 'x-tenant': 'eve' })).toEqual([
      200, 418, 200, 200, 418,
    ]);
  });

  it('a request is denied with 429 when the hook `deny` returns instead of throwing', async () => {
    @Injectable()
    class SilentGuard extends RateLimitGuard {
      protected override deny() {
        return true as unknown as undefined;
      }
    }
    const app = await start(SilentGuard, { framework });
    expect(await statuses(app, {}, {})).toEqual([200, 429]);
  });

  it('the hook `deny` throws for requests without a subject too', async () => {
    const options = { rules: { default: { ...ONCE, by: 'user', onMissingSubject: 'deny' } } } as const;
    const app = await start(HookedGuard, { framework, options });
    expect(await statuses(app, {}, ada, ada)).toEqual([418, 200, 418]);
  });

  it('the hook `deny` can call the default, which sends problem details', async () => {
    @Injectable()
    class DefaultGuard extends RateLimitGuard {
      protected override deny(context: ExecutionContext, decision: Decision, detail?: string) {
        return super.deny(context, decision, detail);
      }
    }
    const app = await start(DefaultGuard, { framework });
    expect(await statuses(app, {}, {})).toEqual([200, 429]);
    expect((await app.get('/')).headers['content-type']).toContain('application/problem+json');
  });

  it('invalid values of hooks never disable a rule and are reported once', async () => {
    @Injectable()
    class WrongGuard extends RateLimitGuard {
      protected override shouldSkip() {
        return 'yes' as unknown as boolean;
      }
      protected override subjectOf() {
        return ['ada'] as unknown as string;
      }
    }
    const app = await start(WrongGuard, { framework });
    expect(await statuses(app, {}, {}, {})).toEqual([200, 429, 429]);
    expect(warningsOf(app)).toEqual([
      expect.stringContaining('WrongGuard.shouldSkip: got "yes"; allowed: true or false'),
      expect.stringContaining('Routes.get.subjectOf: got'),
    ]);
  });

  it('an error of a hook reaches the exception filters of Nest', async () => {
    @Injectable()
    class FailingGuard extends RateLimitGuard {
      protected override subjectOf(): string {
        throw new HttpException('no tenant', 400);
      }
    }
    expect(await statuses(await start(FailingGuard, { framework }), {})).toEqual([400]);
  });

  it('a warning is logged if the guard of the module has counted before a guard with hooks', async () => {
    const app = await start(HookedGuard, { framework, way: 'by @UseGuards', registerGuard: true });
    expect(await statuses(app, ada, ada)).toEqual([200, 429]);
    expect(warningsOf(app)).toEqual([expect.stringContaining('RL_HOOKS_UNUSED')]);
  });

  it('hooks apply to routes with rules of decorators', async () => {
    @Controller('decorated')
    class Decorated {
      @RateLimit(ONCE) @Get() get() {}
    }
    const app = await startApp(
      {
        imports: [RateLimitModule.forRoot({ registerGuard: false })],
        controllers: [Decorated],
        providers: [Tariff, { provide: APP_GUARD, useClass: HookedGuard }],
      },
      { framework },
    );
    const found = [];
    for (const headers of [ada, ada, bob, probe]) found.push((await app.get('/decorated', headers)).status);
    expect(found).toEqual([200, 418, 200, 200]);
  });
});
