import { Controller, Get, Injectable, Post, Version, VersioningType, type Type } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { Query, ResolveField, Resolver } from '@nestjs/graphql';
import { EventPattern, MessagePattern, Transport } from '@nestjs/microservices';
import { RouteConstraints } from '@nestjs/platform-fastify';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitId, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { closeApps, refusalToStart, startApp, type AppSetup } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const ONCE = { window: '1m', limit: 1, algorithm: 'gcra', by: 'everyone' } as const;

let redis: Redis;
beforeAll(() => void (redis = new Redis(redisUrl())));
afterAll(() => redis.disconnect());
afterEach(closeApps);

/** Returns the route in the key of a method's counter. */
async function routeInKey(
  type: Type,
  method: string,
  metadata: { readonly imports?: unknown[]; readonly isProvider?: boolean } = {},
  configure?: AppSetup['configure'],
): Promise<string> {
  const prefix = uniquePrefix();
  const options = { prefix, redis: redisUrl(), timeout: 10_000 };
  const { imports = [], isProvider = false } = metadata;
  const { app } = await startApp(
    {
      imports: [RateLimitModule.forRoot(options), ...(imports as [])],
      ...(imports.length === 0 && { [isProvider ? 'providers' : 'controllers']: [type] }),
    },
    { framework: 'express', ...(configure && { configure }) },
  );
  await app.get(RateLimitService).consume({ route: [type, method] }, 'everyone');
  const [key] = (await redis.keys(`${prefix}{everyone}*`)).filter((each) => /:gcra2\/\d+$/.test(each));
  await app.close();
  return decodeURIComponent(/@(.*):gcra2\/\d+$/.exec(key!)![1]!);
}

describe('the id of an HTTP route', () => {
  it('is its verb and its path template, with the paths of the application and of the module', async () => {
    @Controller('orders')
    class Any {
      @RateLimit(ONCE) @Get(':id') list() {}
    }
    @Module({ controllers: [Any] })
    class Shop {}
    expect(await routeInKey(Any, 'list')).toBe('GET /orders/:id');
    const imports = [Shop, RouterModule.register([{ path: 'shop', module: Shop }])];
    const prefixed = await routeInKey(Any, 'list', { imports }, (app) => void app.setGlobalPrefix('/api/'));
    expect(prefixed).toBe('GET /api/shop/orders/:id');
  });

  it('has no global prefix where the route is excluded from it', async () => {
    @Controller('health')
    class Any {
      @RateLimit(ONCE) @Get() check() {}
    }
    const configure = (app: { setGlobalPrefix(prefix: string, options: object): unknown }) =>
      void app.setGlobalPrefix('api', { exclude: ['health'] });
    expect(await routeInKey(Any, 'check', {}, configure)).toBe('GET /health');
  });

  it('has the versions, so that two versions of a route have counters of their own', async () => {
    @Controller({ path: 'orders', version: ['1', '2'] })
    class Any {
      @RateLimit(ONCE) @Get() old() {}
      @RateLimit(ONCE) @Version('3') @Get() current() {}
    }
    const versioned: AppSetup['configure'] = (app) => void app.enableVersioning({ type: VersioningType.URI });
    expect(await routeInKey(Any, 'old', {}, versioned)).toBe('GET /orders version=1,2');
    expect(await routeInKey(Any, 'current', {}, versioned)).toBe('GET /orders version=3');
  });

  it('has the host and the constraints of Fastify', async () => {
    @Controller({ host: ':tenant.example.com' })
    class Any {
      @RateLimit(ONCE) @RouteConstraints({ secret: 'a' }) @Post() post() {}
    }
    expect(await routeInKey(Any, 'post')).toBe('POST / host=:tenant.example.com {"secret":"a"}');
  });

  it('is the first of its paths, so that a new alias keeps the counter', async () => {
    @Controller(['orders', 'purchases'])
    class Any {
      @RateLimit(ONCE) @Get(['all', 'list']) list() {}
    }
    expect(await routeInKey(Any, 'list')).toBe('GET /orders/all');
  });
});

describe('the id of a handler outside HTTP', () => {
  it('is the field of a GraphQL operation or type', async () => {
    @Resolver('User')
    class Any {
      @RateLimit(ONCE) @Query('me') current() {}
      @RateLimit(ONCE) @Query() users() {}
    }
    const isProvider = true;
    expect(await routeInKey(Any, 'current', { isProvider })).toBe('Query.me');
    expect(await routeInKey(Any, 'users', { isProvider })).toBe('Query.users');
  });

  it('is the namespace and the event of a gateway', async () => {
    @WebSocketGateway({ namespace: 'chat' })
    class Any {
      @RateLimit(ONCE) @SubscribeMessage('send') receive() {}
    }
    expect(await routeInKey(Any, 'receive', { isProvider: true })).toBe('ws /chat send');
  });

  it('is the first pattern of a microservice, with its transport', async () => {
    @Controller()
    class Any {
      @RateLimit(ONCE) @MessagePattern({ service: 'orders', cmd: 'sum' }) sum() {}
      @RateLimit(ONCE) @EventPattern(['created', 'updated'], Transport.REDIS) note() {}
    }
    expect(await routeInKey(Any, 'sum')).toBe('message {"cmd":"sum","service":"orders"}');
    expect(await routeInKey(Any, 'note')).toBe('event:1 created');
  });

  it('is the name of the method for a provider', async () => {
    @Injectable()
    class Any {
      @RateLimit(ONCE) async geocode() {}
    }
    expect(await routeInKey(Any, 'geocode', { isProvider: true })).toBe('call geocode');
  });
});

describe('@RateLimitId', () => {
  it('on a handler is its id', async () => {
    @Controller('a')
    class Any {
      @RateLimitId('orders') @RateLimit(ONCE) @Get() list() {}
    }
    expect(await routeInKey(Any, 'list')).toBe('orders');
  });

  it('on a class is followed by the name of each method, and subclasses do not inherit it', async () => {
    @RateLimitId('orders')
    @Controller('a')
    class Any {
      @RateLimit(ONCE) @Get() list() {}
      @RateLimitId('one') @RateLimit(ONCE) @Get(':id') get() {}
    }
    @Controller('b')
    class Sub extends Any {}
    expect(await routeInKey(Any, 'list')).toBe('orders.list');
    expect(await routeInKey(Any, 'get')).toBe('one');
    expect(await routeInKey(Sub, 'list')).toBe('GET /b');
  });

  it.each([
    ['', '""'],
    ['é', '"é"'],
    ['x'.repeat(129), `"${'x'.repeat(57)}..."`],
    [7, '7'],
  ])('with the id %p stops the application at start', async (id, shown) => {
    @Controller()
    class Orders {
      @RateLimitId(id as string) @RateLimit(ONCE) @Get() list() {}
    }
    const message = await refusalToStart({ imports: [RateLimitModule.forRoot({})], controllers: [Orders] });
    expect(message).toContain('@RateLimitId on Orders.list: got ');
    if (shown.length < 20) expect(message).toContain(`got ${shown};`);
    expect(message).toContain('allowed: 1 to 128 printable ASCII characters');
  });

  it('without an id, such as one of a variable that is not set, is an error', () => {
    expect(() => RateLimitId(process.env['NO_SUCH_VARIABLE']!)).toThrow(
      '@RateLimitId: got undefined; allowed: 1 to 128 printable ASCII characters',
    );
  });
});

describe('two handlers with one id', () => {
  const rules = { default: { window: '1m', limit: 9 } } as const;

  @Controller('orders')
  class First {
    @Get() list() {}
  }

  it('stop the application at start, with both names and the fix', async () => {
    @Controller()
    class Second {
      @Get('orders') all() {}
    }
    const imports = [RateLimitModule.forRoot({ rules })];
    expect(await refusalToStart({ imports, controllers: [First, Second] })).toContain(
      'routes First.list and Second.all: both have the id "GET /orders", so they would share counters; ' +
        "write @RateLimitId('...') with another id on one of them",
    );
  });

  it('may be two `execute` of CQRS whose rules have different names, and are methods in the message', async () => {
    const handlers = (names: readonly [string, string]) => {
      @Injectable()
      class Pay {
        @RateLimit({ window: '1m', limit: 9, name: names[0], by: 'everyone' })
        async execute() {}
      }
      @Injectable()
      class Ship {
        @RateLimit({ window: '1m', limit: 5, name: names[1], by: 'everyone' })
        async execute() {}
      }
      return { imports: [RateLimitModule.forRoot()], providers: [Pay, Ship] };
    };
    await startApp(handlers(['pay', 'ship']), { framework: 'express' });
    expect(await refusalToStart(handlers(['same', 'same']))).toContain(
      'methods Pay.execute and Ship.execute: both have the id "call execute", so they would share counters',
    );
  });

  it('have an id each by @RateLimitId', async () => {
    @Controller()
    class Second {
      @RateLimitId('all orders') @Get('orders') all() {}
    }
    const imports = [RateLimitModule.forRoot({ rules })];
    await startApp({ imports, controllers: [First, Second] }, { framework: 'express' });
  });

  it('may have no rules, or shared rules', async () => {
    @Controller()
    class Second {
      @Get('orders') all() {}
    }
    const shared = { rules: { default: { ...rules.default, scope: 'shared' as const } } };
    for (const options of [{}, shared]) {
      const imports = [RateLimitModule.forRoot(options)];
      await startApp({ imports, controllers: [First, Second] }, { framework: 'express' });
    }
  });

  it('of an inherited method of two providers have an id each by @RateLimitId on the classes', async () => {
    class Client {
      @RateLimit(ONCE) async call() {}
    }
    @Injectable()
    class A extends Client {}
    @Injectable()
    class B extends Client {}
    const imports = [RateLimitModule.forRoot({})];
    expect(await refusalToStart({ imports, providers: [A, B] })).toContain('both have the id "call call"');
    RateLimitId('b')(B);
    await startApp({ imports, providers: [A, B] }, { framework: 'express' });
  });
});

it('the id of a field resolver is the type and the field', async () => {
  @Resolver('User')
  class Any {
    @RateLimit(ONCE) @ResolveField() posts() {}
  }
  @Module({
    providers: [Any, { provide: 'GqlModuleOptions', useValue: { fieldResolverEnhancers: ['guards'] } }],
  })
  class Fields {}
  expect(await routeInKey(Any, 'posts', { imports: [Fields] })).toBe('User.posts');
});
