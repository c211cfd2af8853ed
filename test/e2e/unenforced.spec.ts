import {
  Controller,
  Get,
  Injectable,
  Module,
  UseFilters,
  UseGuards,
  type CanActivate,
  type INestApplication,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitHealth,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import type { RateLimitModuleExtras } from '../../lib/nest/rate-limit.options.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

const ONE = { window: '1m', limit: 1 } as const;

@Controller('open')
class Open {
  @Get() get() {}
}

@UseGuards(RateLimitGuard)
@Controller('guarded')
class Guarded {
  @Get() get() {}
}

@Module({ controllers: [Guarded] })
class OfGuarded {}

@UseFilters(RateLimitFilter)
@Controller('filtered')
class Filtered {
  @Get() get() {}
}

@Controller('decorated')
class Decorated {
  @RateLimit(ONE)
  @Get()
  get() {}
}

@Controller('limited')
@RateLimit(ONE)
class Limited {
  @Get() get() {}
}

@Injectable()
class Other implements CanActivate {
  canActivate() {
    return true;
  }
}

/** A GraphQL resolver, as @nestjs/graphql marks one. */
function resolver(...decorators: ClassDecorator[]): Type {
  @Injectable()
  class Orders {
    orders() {}
  }
  Reflect.defineMetadata(
    'graphql:resolver_type',
    'Query',
    Object.getOwnPropertyDescriptor(Orders.prototype, 'orders')!.value as object,
  );
  for (const decorate of decorators) decorate(Orders);
  return Orders;
}

afterEach(closeApps);

async function warningsOf(
  options: RateLimitModuleOptions & RateLimitModuleExtras,
  metadata: ModuleMetadata = {},
  configure: (app: INestApplication) => void = () => undefined,
) {
  const imports = [RateLimitModule.forRoot(options)];
  const { logs, app } = await startApp({ imports, ...metadata }, { framework: 'express', configure });
  const codes = (await app.get(RateLimitHealth).isHealthy()).rateLimit.warnings;
  return { codes, lines: logs.ours().filter(({ level }) => level === 'warn') };
}

describe('rules of the module that no guard enforces', () => {
  const rules = { default: ONE, burst: { window: '1s', limit: 1 } } as const;
  const options = { rules, registerGuard: false };

  it.each<[string, ModuleMetadata]>([
    ['controllers', { controllers: [Open] }],
    ['resolvers', { providers: [resolver()] }],
  ])(
    'rules without a guard are one warning in log and health in an application with %s',
    async (_title, metadata) => {
      const { codes, lines } = await warningsOf(options, metadata);
      expect(codes).toEqual(['RL_NO_GUARD']);
      expect(lines).toEqual([
        {
          level: 'warn',
          message:
            'The rules "default", "burst" limit no request: `registerGuard` is false, and no handler has ' +
            '@UseGuards(RateLimitGuard). Add it to the handlers that `rules` is for, or remove `registerGuard: false`. ' +
            '(RL_NO_GUARD, see docs/warnings.md)',
        },
      ]);
    },
  );

  it('rules are a warning when the application has only other guards', async () => {
    const providers = [{ provide: APP_GUARD, useClass: Other }];
    const { codes } = await warningsOf(options, { controllers: [Open], providers });
    expect(codes).toEqual(['RL_NO_GUARD']);
  });

  const plain = () => undefined;

  it.each<[string, ModuleMetadata, (app: INestApplication) => void]>([
    ['@UseGuards on a controller', { controllers: [Open, Guarded] }, plain],
    ['@UseGuards on a resolver', { providers: [resolver(UseGuards(RateLimitGuard))] }, plain],
    ['useGlobalGuards', { controllers: [Open] }, (app) => app.useGlobalGuards(app.get(RateLimitGuard))],
    [
      'APP_GUARD',
      { controllers: [Open], providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }] },
      plain,
    ],
    ['programs alone, since there is no handler', {}, plain],
  ])('rules are no warning when they are enforced by %s', async (_title, metadata, configure) => {
    expect((await warningsOf(options, metadata, configure)).codes).toEqual([]);
  });

  it('rules are no warning when the module registers the guard', async () => {
    expect((await warningsOf({ rules }, { controllers: [Open] })).codes).toEqual([]);
  });
});

describe('`defaults` without any rule', () => {
  const MESSAGE =
    'There is no rule, so nothing is limited. Write one: `rules: { default: { window: "1m", limit: 100 } }`. (RL_NO_RULES, see docs/warnings.md)';

  it.each<RateLimitModuleOptions>([
    { defaults: ONE },
    { defaults: { by: 'user' }, rules: {} },
    { rules: {} },
    { rules: undefined }, // A key of the configuration that is misspelled.
  ])('options without a rule are one warning in log and health: %j', async (options) => {
    const { codes, lines } = await warningsOf(options, { controllers: [Open] });
    expect(codes).toEqual(['RL_NO_RULES']);
    expect(lines).toEqual([{ level: 'warn', message: MESSAGE }]);
  });

  it.each<[string, RateLimitModuleOptions, ModuleMetadata]>([
    ['there is a rule for every route', { defaults: { by: 'everyone' }, rules: { default: ONE } }, {}],
    ['there is a rule on demand', { defaults: { by: 'everyone' }, onDemand: { login: ONE } }, {}],
    ['a decorator has a rule', { defaults: { by: 'everyone' } }, { controllers: [Decorated] }],
    ['there is none', {}, {}],
  ])('defaults are no warning when %s', async (_title, options, metadata) => {
    expect((await warningsOf(options, metadata)).codes).toEqual([]);
  });
});

describe('`redis` without a value', () => {
  const { NODE_ENV } = process.env;
  afterEach(() => {
    process.env['NODE_ENV'] = NODE_ENV;
  });

  it.each<[string, string, RateLimitModuleOptions, string[]]>([
    ['is one warning in production', 'production', { redis: undefined }, ['RL_REDIS_UNSET']],
    ['is no warning outside production', 'test', { redis: undefined }, []],
    ['is no warning if the options do not have it', 'production', {}, []],
  ])('an undefined `redis` %s', async (_title, environment, options, expected) => {
    process.env['NODE_ENV'] = environment;
    const { codes, lines } = await warningsOf({ rules: { default: ONE }, ...options });
    expect(codes).toEqual(expected);
    expect(lines.map(({ message }) => /\((RL_\w+)/.exec(message)?.[1])).toEqual(expected);
  });
});

describe('@RateLimit without RateLimitModule', () => {
  const MESSAGE =
    '@RateLimit limits nothing, since RateLimitModule is not imported. Add RateLimitModule.forRoot() to the ' +
    'imports of the root module. (RL_NO_MODULE, see docs/warnings.md)';

  it.each<[string, Type[]]>([
    ['a handler', [Decorated]],
    ['a controller', [Limited]],
    ['several classes', [Decorated, Limited]],
  ])('@RateLimit without RateLimitModule is one warning at start on %s', async (_title, controllers) => {
    const { logs, get } = await startApp({ controllers }, { framework: 'express' });
    expect(logs.ours()).toEqual([{ level: 'warn', message: MESSAGE }]);
    const path = controllers.includes(Limited) ? '/limited' : '/decorated';
    expect([(await get(path)).status, (await get(path)).status]).toEqual([200, 200]);
  });

  it.each<[string, ModuleMetadata]>([
    ['a guard on a handler', { controllers: [Guarded] }],
    ['a filter on a handler', { controllers: [Filtered] }],
    [
      'a guard in a module that does not import it, with isGlobal: false',
      {
        imports: [RateLimitModule.forRoot({ isGlobal: false }), OfGuarded],
      },
    ],
  ])(
    'without RateLimitModule, the application does not start with %s, and the error names the module',
    async (_title, metadata) => {
      expect(await refusalToStart(metadata)).toContain(
        'the argument Symbol(nestjs-redis-rate-limit:RateLimitModule.forRoot() in imports) at index [0]',
      );
    },
  );

  it('@RateLimit is no warning when another module of the application imports RateLimitModule', async () => {
    @Module({ imports: [RateLimitModule.forRoot({ isGlobal: false })] })
    class Feature {}
    const metadata = { imports: [Feature], controllers: [Decorated, Limited] };
    const { logs, get, app } = await startApp(metadata, { framework: 'express' });
    expect(logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
    expect([(await get('/limited')).status, (await get('/limited')).status]).toEqual([200, 429]);
    expect(app.get(RateLimitService, { strict: false })).toBeDefined();
  });
});
