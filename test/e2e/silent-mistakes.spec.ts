import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  Controller,
  Get,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CanActivate,
  type ExceptionFilter,
  type MiddlewareConsumer,
  type ModuleMetadata,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { EMPTY } from 'rxjs';
import {
  RateLimit,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitId,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
  Usage,
  type RuleDecision,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const ONE = { window: '1m', limit: 1 } as const;

@Controller()
class Orders {
  @Get()
  list() {}
}

afterEach(closeApps);

/** Gives the method of a class another name, and a limit. */
function rename({ prototype }: Type<{ run(): unknown }>, name: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'run')!;
  RateLimit(ONE)(prototype as object, name, descriptor);
}

/** Starts an application and returns its warnings. */
async function warnings(options: RateLimitModuleOptions, ...controllers: Type[]): Promise<string[]> {
  return warningsOf({ imports: [RateLimitModule.forRoot(options)], controllers });
}

async function warningsOf(metadata: ModuleMetadata): Promise<string[]> {
  const { logs } = await startApp(metadata, { framework: 'express' });
  return logs
    .ours()
    .filter(({ level }) => level === 'warn')
    .map(({ message }) => message);
}

describe('a guard that Nest injects nothing into', () => {
  it('throws where it is created, instead of a 500 for each request', () => {
    const create = () => new (RateLimitGuard as unknown as new () => object)();
    expect(create).toThrow(
      'new RateLimitGuard(): created without its dependencies; RateLimitModule registers one, so remove `useGlobalGuards`, or write @UseGuards(RateLimitGuard);',
    );
  });

  it('stops the application if a subclass has a constructor of its own', async () => {
    @Injectable()
    class Guard extends RateLimitGuard {
      readonly names: readonly string[];

      constructor() {
        // @ts-expect-error the declarations that are published hide the arguments
        super();
        this.names = [];
      }
    }
    const providers = [{ provide: APP_GUARD, useClass: Guard }];
    const imports = [RateLimitModule.forRoot({ registerGuard: false })];
    expect(await refusalToStart({ imports, providers })).toContain(
      'a subclass has no constructor of its own',
    );
  });
});

it('a filter that Nest injects nothing into throws where it is created, instead of a 500 for each denied request', () => {
  const create = () => new (RateLimitFilter as unknown as new () => object)();
  expect(create).toThrow(
    'new RateLimitFilter(): created without its dependencies; RateLimitModule registers one, so remove',
  );
});

describe('a decorator without its parentheses', () => {
  it.each([
    ['@RateLimit', RateLimit, "write @RateLimit('1m', 100)"],
    ['@SkipRateLimit', SkipRateLimit, 'write @SkipRateLimit()'],
  ] as const)('%s is an error that names the fix, on a method and on a class', (name, decorator, fix) => {
    const bare: MethodDecorator & ClassDecorator = decorator as never;
    const onMethod = () => {
      class Routes {
        @bare
        get() {}
      }
      return Routes;
    };
    const onClass = () => {
      @bare
      class Routes {}
      return Routes;
    };
    expect(onMethod).toThrow(configMessage(`${name} on Routes.get: written without parentheses; ${fix}`));
    expect(onClass).toThrow(configMessage(`${name} on Routes: written without parentheses; ${fix}`));
  });

  it.each([
    ['a property', [undefined]],
    ['a parameter', [0]],
    ['a static method', [{ value() {}, configurable: true }]],
  ])('is an error on %s as well', (place, others) => {
    class Routes {
      get() {}
    }
    const target = place === 'a static method' ? Routes : Routes.prototype;
    for (const decorator of [RateLimit, SkipRateLimit] as unknown as ((...given: unknown[]) => unknown)[]) {
      expect(() => decorator(target, 'get', ...others)).toThrow('on Routes.get: written without parentheses');
    }
  });

  it('is an error of @RateLimitId, whose id would not apply', () => {
    class Routes {
      get() {}
    }
    const bare = RateLimitId as unknown as (target: object) => unknown;
    for (const target of [Routes, Routes.prototype]) {
      expect(() => bare(target)).toThrow(
        configMessage("@RateLimitId on Routes: written without parentheses; write @RateLimitId('orders')"),
      );
    }
  });
});

describe('@RateLimit that limits nothing stops the application', () => {
  const refusal = (metadata: object) => refusalToStart({ imports: [RateLimitModule.forRoot()], ...metadata });
  const message = (type: string, method: string) =>
    configMessage(
      `@RateLimit on ${type}: Nest calls its ${method}() for the requests of other handlers, and no guard limits it; ` +
        'write @RateLimit on the routes, or limit the call in the method with RateLimitService.consume()',
    );

  it('on a guard, and on an interceptor', async () => {
    @Injectable()
    class Slow implements CanActivate {
      @RateLimit(ONE)
      async canActivate() {
        return true;
      }
    }
    @RateLimit(ONE)
    @Injectable()
    class Slower implements NestInterceptor {
      intercept() {
        return EMPTY;
      }
    }
    @Controller()
    class Routes {
      @UseGuards(Slow)
      @UseInterceptors(Slower)
      @Get()
      get() {}
    }
    const text = await refusal({ controllers: [Routes] });
    expect(text).toContain('@RateLimit on Slow: Nest calls its canActivate()');
    expect(text).toContain('@RateLimit on Slower: Nest calls its intercept()');
    const global = [{ provide: APP_GUARD, useClass: Slow }];
    expect(await refusal({ providers: global })).toBe(message('Slow', 'canActivate'));
  });

  it('on a pipe and an exception filter, by its class or its method', async () => {
    @RateLimit(ONE)
    @Injectable()
    class Trim implements PipeTransform {
      transform(value: unknown) {
        return value;
      }
    }
    @Injectable()
    class Report implements ExceptionFilter {
      @RateLimit(ONE)
      async catch() {}
    }
    @Controller()
    class Routes {
      @UsePipes(Trim)
      @UseFilters(Report)
      @Get()
      get() {}
    }
    const text = await refusal({ controllers: [Routes] });
    expect(text).toContain('@RateLimit on Trim: Nest calls its transform()');
    expect(text).toContain('@RateLimit on Report: Nest calls its catch()');
  });

  it('on an instance that the application has created, whose method may be synchronous', async () => {
    class Slow implements CanActivate {
      @RateLimit(ONE)
      canActivate() {
        return true;
      }
    }
    @UseGuards(new Slow())
    @Controller()
    class OfClass extends Orders {}
    @Controller()
    class OfMethod {
      @UseGuards(new Slow())
      @Get()
      get() {}
    }
    for (const controller of [OfClass, OfMethod])
      expect(await refusal({ controllers: [controller] })).toBe(message('Slow', 'canActivate'));
    expect(await refusal({ providers: [{ provide: APP_GUARD, useValue: new Slow() }] })).toBe(
      message('Slow', 'canActivate'),
    );
    expect(await refusal({ providers: [{ provide: APP_GUARD, useClass: Slow }] })).toBe(
      message('Slow', 'canActivate'),
    );
  });

  it('on an instance of a guard that a gateway has', async () => {
    class Slow implements CanActivate {
      @RateLimit(ONE)
      async canActivate() {
        return true;
      }
    }
    @WebSocketGateway()
    class Room {
      @UseGuards(new Slow())
      @SubscribeMessage('say')
      say() {}
    }
    expect(await refusal({ providers: [Room] })).toBe(message('Slow', 'canActivate'));
  });

  it.each([
    'onModuleInit',
    'onApplicationBootstrap',
    'onModuleDestroy',
    'beforeApplicationShutdown',
    'onApplicationShutdown',
  ])('on the hook %s', async (hook) => {
    class Jobs {
      async run() {}
    }
    rename(Jobs, hook);
    expect(await refusal({ providers: [Jobs] })).toBe(
      configMessage(
        `@RateLimit on Jobs.${hook}: Nest calls this method itself and handles no denial; ` +
          'limit the call in the method with RateLimitService.consume()',
      ),
    );
  });

  it.each(['afterInit', 'handleDisconnect'])('on the hook %s of a gateway, and on no other', async (hook) => {
    @WebSocketGateway()
    class Room {
      async run() {}
    }
    class Jobs {
      async run() {}
    }
    rename(Room, hook);
    rename(Jobs, hook);
    expect(await refusal({ providers: [Room] })).toBe(
      configMessage(
        `@RateLimit on Room.${hook}: Nest calls this method itself and handles no denial; limit handleConnection or messages`,
      ),
    );
    expect(await warningsOf({ imports: [RateLimitModule.forRoot()], providers: [Jobs] })).toEqual([]);
  });

  it.each(FRAMEWORKS)('on middleware of %s', async (framework) => {
    @Injectable()
    class Log {
      @RateLimit(ONE)
      async use(_request: unknown, _response: unknown, next: () => void) {
        next();
      }
    }
    class AppModule {
      configure(consumer: MiddlewareConsumer) {
        consumer.apply(Log).forRoutes(Orders);
      }
    }
    const module = { module: AppModule, imports: [RateLimitModule.forRoot()], controllers: [Orders] };
    const lines: string[] = [];
    const prepare = (builder: TestingModuleBuilder) =>
      builder.setLogger({
        log: () => undefined,
        error: () => undefined,
        warn: (line: string) => lines.push(line),
      });
    const started = startApp({ imports: [module] }, { framework, prepare });
    await expect(started).rejects.toThrow(message('Log', 'use'));
    expect(lines).toEqual([]); // Nest warns of a filter on middleware.
  });

  it('with a limit that is given twice', async () => {
    const fields = { limit: 500, name: 'list' } as object;
    @Controller()
    class Routes {
      @RateLimit('1m', 5, 'gcra', fields)
      @Get()
      get() {}
    }
    expect(await refusal({ controllers: [Routes] })).toBe(
      configMessage(
        '@RateLimit on Routes.get: got limit 500 in the fields as well; allowed: limit as an argument only',
      ),
    );
  });

  it('with a name that is given twice', async () => {
    const fields = { limit: 5, name: 'list' } as object;
    @Controller()
    class Routes {
      @RateLimit('login', fields)
      @Get()
      get() {}
    }
    const imports = [RateLimitModule.forRoot({ onDemand: { login: { window: '1m', limit: 9 } } })];
    expect(await refusalToStart({ imports, controllers: [Routes] })).toBe(
      configMessage(
        '@RateLimit on Routes.get: got name "list" in the fields as well; allowed: name as an argument only',
      ),
    );
  });
});

describe('a rule that limits nothing is one warning', () => {
  it('in `rules`, if no handler is of their transports', async () => {
    @Controller()
    class Messages {
      @MessagePattern('sum')
      sum() {}
    }
    const text =
      'and no such handler of this application has it, so it limits no request. Add the transport of your';
    expect(await warnings({ rules: { default: ONE } }, Messages)).toEqual([
      expect.stringContaining(`rules.default applies to all handlers of http, graphql, ws, ${text}`),
    ]);
    expect(await warnings({ rules: { default: ONE }, transports: [] }, Orders)).toEqual([
      expect.stringContaining('rules.default applies to no transport, since `transports` is empty,'),
    ]);
    expect(await warnings({ rules: { default: ONE } }, Orders)).toEqual([]);
  });

  it('on each route with a rule of its own, without a name, whose cost is 0', async () => {
    @Controller()
    class Both {
      @RateLimit({ ...ONE, cost: 0 })
      @Get('a')
      a() {}

      @RateLimit({ ...ONE, cost: 0 })
      @Get('b')
      b() {}
    }
    const reason = 'limits nothing, since its cost is 0.';
    expect(await warnings({}, Both)).toEqual([
      expect.stringContaining(`Rule "default" of Both.a ${reason}`),
      expect.stringContaining(`Rule "default" of Both.b ${reason}`),
    ]);
    const ofModule = await warnings({ rules: { all: { ...ONE, cost: 0 } } }, Both);
    expect(ofModule.filter((message) => message.includes('Rule "all"'))).toHaveLength(1);
  });

  it('with a constant cost of 0', async () => {
    expect(await warnings({ rules: { default: { ...ONE, cost: 0 } } }, Orders)).toEqual([
      expect.stringContaining('Rule "default" of Orders.list limits nothing, since its cost is 0.'),
    ]);
  });

  it("with onError: 'refund', but no `settle`, unless `defaults` state it for rules that have one", async () => {
    const refunding = { ...ONE, onError: 'refund' as const };
    expect(await warnings({ rules: { default: refunding } }, Orders)).toEqual([
      expect.stringContaining(
        `Rule "default" of Orders.list has onError: 'refund' without \`settle\`, so failed requests are charged.`,
      ),
    ]);
    expect(await warnings({ rules: { default: { ...refunding, settle: () => 1 } } }, Orders)).toEqual([]);
    expect(await warnings({ rules: { default: ONE }, defaults: { onError: 'refund' } }, Orders)).toEqual([]);
  });

  it('but not with a cost of 0 in a handler that reports its usage', async () => {
    @Controller()
    class Quota {
      @RateLimit('mail', { cost: 0 })
      @Get('quota')
      quota(@Usage() usage: readonly RuleDecision[]) {
        return usage;
      }
    }
    expect(await warnings({ onDemand: { mail: ONE } }, Quota)).toEqual([]);
  });

  it('with a field that is undefined in a decorator', async () => {
    @Controller()
    class Routes {
      @RateLimit({ ...ONE, by: undefined as unknown as 'ip' })
      @Get()
      get() {}
    }
    expect(await warnings({}, Routes)).toEqual([
      expect.stringContaining('@RateLimit on Routes.get.by is undefined and has no effect'),
    ]);
  });

  it('with a field that is undefined in the options, such as one that was read from a missing variable', async () => {
    @Controller()
    class Routes {
      @Get() get() {}
    }
    const given = { rules: { default: ONE }, overrides: { default: { limit: undefined } } };
    expect(await warnings(given, Routes)).toEqual([
      expect.stringContaining('overrides.default.limit is undefined and has no effect'),
    ]);
  });

  it('on a method that a subclass overrides', async () => {
    class Base {
      @RateLimit(ONE)
      list() {}

      @RateLimit(ONE)
      skipped() {}
    }
    @Controller()
    class Derived extends Base {
      @Get()
      override list() {}

      @SkipRateLimit()
      @Get('skipped')
      override skipped() {}
    }
    expect(await warnings({}, Derived)).toEqual([
      expect.stringContaining('Derived.list overrides Base.list, whose @RateLimit does not apply to it.'),
    ]);
  });

  it("on a provider's method that a subclass overrides, also if a factory makes the instance", async () => {
    class Base {
      @RateLimit({ ...ONE, by: 'everyone' })
      async send() {}
    }
    @Injectable()
    class Derived extends Base {
      override async send() {}
    }
    class Made extends Base {
      override async send() {}
    }
    const providers = [Derived, { provide: 'made', useFactory: () => new Made() }];
    expect(await warningsOf({ imports: [RateLimitModule.forRoot({})], providers })).toEqual([
      expect.stringContaining('Derived.send overrides Base.send, whose @RateLimit does not apply to it.'),
      expect.stringContaining('Made.send overrides Base.send, whose @RateLimit does not apply to it.'),
    ]);
  });

  describe('in `onDemand`', () => {
    beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
    afterEach(() => void jest.useRealTimers());

    it('if no decorator names it, and no program has used it in an hour', async () => {
      @Controller()
      class Routes {
        @RateLimit('login')
        @Get()
        login() {}
      }
      const onDemand = { login: ONE, mail: ONE, forgotten: ONE };
      const { app, logs } = await startApp(
        { imports: [RateLimitModule.forRoot({ onDemand })], controllers: [Routes] },
        { framework: 'express' },
      );
      await app.get(RateLimitService).consume('mail', 'tenant');
      const warned = () => logs.ours().filter(({ level }) => level === 'warn');
      jest.advanceTimersByTime(3_599_000);
      expect(warned()).toEqual([]);
      jest.advanceTimersByTime(2_000);
      while (warned().length === 0) await setImmediate(); // The message is loaded.
      expect(warned().map(({ message }) => message)).toEqual([
        expect.stringContaining('onDemand.forgotten limits nothing so far: no decorator names it'),
      ]);
    });
  });
});

describe('names that differ in one character', () => {
  it('are one warning, unless they are versions', async () => {
    @Controller()
    class Routes {
      @RateLimit({ ...ONE, name: 'logn' })
      @Get()
      get() {}
    }
    const onDemand = { login: ONE, 'api-v1': ONE, 'api-v2': ONE, get: ONE, set: ONE };
    expect(await warnings({ onDemand }, Routes)).toEqual([
      expect.stringContaining('The rules "login" and "logn" differ in one character'),
    ]);
  });

  it('are reported beside those that differ in case, and however many names there are', async () => {
    const pairs = (...names: string[]) =>
      warnings({ onDemand: Object.fromEntries(names.map((name) => [name, ONE])) }, Orders);
    expect(await pairs('login', 'logn', 'Login')).toEqual([
      expect.stringContaining('"login" and "logn" differ in one character'),
      expect.stringContaining('"login" and "Login" differ in the case of letters'),
      expect.stringContaining('"logn" and "Login" differ in one character'),
    ]);
    const many = Array.from({ length: 200 }, (_, index) => `rule-${index}`);
    expect(await pairs(...many, 'login', 'logn', 'Login')).toEqual([
      expect.stringContaining('"login" and "Login" differ in the case of letters'),
    ]);
  });
});

describe('names that differ only in case', () => {
  it('are one warning, since clients of later drafts read them as one rule', async () => {
    const onDemand = { API: ONE, api: ONE, app: ONE };
    expect(await warnings({ onDemand })).toEqual([
      expect.stringContaining('The rules "API" and "api" differ in the case of letters'),
    ]);
  });
});

describe('RATE_LIMIT', () => {
  afterEach(() => {
    delete process.env['RATE_LIMIT'];
  });

  it('with another value than off is one warning', async () => {
    process.env['RATE_LIMIT'] = 'OFF';
    expect(await warnings({ rules: { default: ONE } }, Orders)).toEqual([
      expect.stringContaining(
        'RATE_LIMIT="OFF" has no effect, and every limit is enforced. Write RATE_LIMIT=off',
      ),
    ]);
  });
});

describe.each(FRAMEWORKS)('a proxy in front of %s', (framework) => {
  it.each(['X-Real-IP', 'CF-Connecting-IP'])('that sends only %s is one warning', async (header) => {
    const imports = [
      RateLimitModule.forRoot({ rules: { default: { ...ONE, limit: 9, allowList: ['127.0.0.1'] } } }),
    ];
    const { get, logs } = await startApp({ imports, controllers: [Orders] }, { framework });
    for (let request = 0; request < 3; request += 1) await get('/', { [header]: '203.0.113.7' });
    expect(logs.ours().filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          `A request has ${header}, which neither .* all are allowed if an allow list has it.* \\(RL_FORWARDED_UNTRUSTED`,
        ),
      },
    ]);
  });
});

describe('a value that is no subject', () => {
  it.each([new Date(0), { id: 7 }, [7]])('is reported where `by` returns it: %p', async (value) => {
    const imports = [RateLimitModule.forRoot({ rules: { default: { ...ONE, by: (() => value) as never } } })];
    const { get, logs } = await startApp({ imports, controllers: [Orders] }, { framework: 'express' });
    expect([(await get('/')).status, (await get('/')).status]).toEqual([200, 429]);
    expect(logs.ours().map(({ message }) => message)).toContainEqual(
      expect.stringContaining('RL_INVALID_VALUE'),
    );
  });

  it('is an error where a program passes it empty', async () => {
    const limiter = new RateLimiter({ store: new MemoryStore() });
    await expect(limiter.consume(ONE, '')).rejects.toThrow('got ""; allowed: a string that is not empty');
    await limiter.close();
    const imports = [RateLimitModule.forRoot({ onDemand: { mail: ONE } })];
    const { app } = await startApp({ imports }, { framework: 'express' });
    await expect(app.get(RateLimitService).consume('mail', '')).rejects.toThrow('got ""');
  });
});

describe('what holds permits and is dropped', () => {
  const onDemand = {
    slow: { algorithm: 'concurrency', limit: 2 },
    tokens: { window: '1m', limit: 10_000, algorithm: 'gcra' },
  } as const;

  /** Runs a function that drops what it got, and returns the first warning with a code. */
  async function warningOf(code: string, drop: (limits: RateLimitService) => Promise<void>): Promise<string> {
    const { app, logs } = await startApp(
      { imports: [RateLimitModule.forRoot({ onDemand })] },
      { framework: 'express' },
    );
    await drop(app.get(RateLimitService));
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const dropped = () => logs.ours().filter(({ message }) => message.includes(code));
    await until(() => {
      gc();
      return dropped().length > 0;
    }, 'the warning');
    return dropped()[0]!.message;
  }

  it('is one warning when a permit of hold() is garbage before its release', async () => {
    const warning = await warningOf('RL_PERMIT_DROPPED', async (limits) => {
      await (await limits.hold('slow', 'ann')).release();
      expect((await limits.hold('slow', 'ann')).allowed).toBe(true);
    });
    expect(warning).toContain('A permit of rule "slow" was dropped without a release');
  });

  it('is one warning when a reservation is garbage before it is settled', async () => {
    const warning = await warningOf('RL_RESERVATION_DROPPED', async (limits) => {
      const reserve = () => limits.reserve(['tokens', 'slow'], 'ann', { cost: { tokens: 20 } });
      await (await reserve()).settle({ tokens: 10 });
      await limits.reserve('tokens', 'ann', { maxWait: '1s' }); // scheduled work need not be settled
      expect((await reserve()).allowed).toBe(true);
    });
    expect(warning).toContain(
      'A reservation of the rules "tokens", "slow" was dropped without settle() or cancel(), so it stays charged as ' +
        'reserved, and the permits of "slow" stay held for up to a day. Declare it with `await using`.',
    );
  });
});
