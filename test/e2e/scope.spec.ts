import { Controller, Get, Module, Param } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, SETUPS, startApp, type TestApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const ONCE = { window: '1m', limit: 1, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

/** Returns the statuses of requests sent in sequence. */
async function statuses({ get }: TestApp, ...paths: string[]): Promise<number[]> {
  const found: number[] = [];
  for (const path of paths) found.push((await get(path)).status);
  return found;
}

describe.each(SETUPS)('the counter of a rule on $framework with $kind', ({ framework, kind }) => {
  const setup = () => ({ framework, store: virtualStore(kind, new VirtualTime()) });
  const limits = (options: object = {}) => RateLimitModule.forRoot({ prefix: uniquePrefix(), ...options });

  it('each route has its own counter by default', async () => {
    @RateLimit(ONCE)
    @Controller()
    class TwoRoutes {
      @Get('a') a() {}
      @Get('b') b() {}
    }
    const app = await startApp({ imports: [limits()], controllers: [TwoRoutes] }, setup());
    expect(await statuses(app, '/a', '/b', '/a', '/b')).toEqual([200, 200, 429, 429]);
  });

  it("all routes with a rule of scope 'shared' have one counter", async () => {
    @RateLimit({ ...ONCE, name: 'total', limit: 2, scope: 'shared' })
    @Controller('first')
    class First {
      @Get('a') a() {}
      @Get('b') b() {}
    }
    @Controller('second')
    class Second {
      @RateLimit({ ...ONCE, name: 'total', limit: 2, scope: 'shared' })
      @Get()
      get() {}
    }
    const app = await startApp({ imports: [limits()], controllers: [First, Second] }, setup());
    expect(await statuses(app, '/first/a', '/second', '/first/b')).toEqual([200, 200, 429]);
  });

  it('two controllers with the same class name have separate counters', async () => {
    function moduleOf(path: string) {
      @RateLimit(ONCE)
      @Controller(path)
      class ItemsController {
        @Get() list() {}
      }
      @Module({ controllers: [ItemsController] })
      class ItemsModule {}
      return ItemsModule;
    }
    const imports = [limits(), moduleOf('books'), moduleOf('films')];
    const app = await startApp({ imports }, setup());
    expect(await statuses(app, '/books', '/films', '/books', '/films')).toEqual([200, 200, 429, 429]);
  });

  it('two controllers that inherit a handler have separate counters', async () => {
    class Base {
      @RateLimit(ONCE)
      @Get()
      list() {}
    }
    @Controller('books')
    class Books extends Base {}
    @Controller('films')
    class Films extends Base {}
    const app = await startApp({ imports: [limits()], controllers: [Books, Films] }, setup());
    expect(await statuses(app, '/books', '/films', '/books', '/films')).toEqual([200, 200, 429, 429]);
  });

  it('handlers wrapped in nameless functions by another decorator have separate counters', async () => {
    function Traced(_target: object, _name: string, descriptor: PropertyDescriptor) {
      const traced = descriptor.value as (...args: unknown[]) => unknown;
      descriptor.value = function (...args: unknown[]) {
        return traced.apply(this, args);
      };
    }
    @RateLimit(ONCE)
    @Controller()
    class TracedController {
      @Get('a') @Traced a() {}
      @Get('b') @Traced b() {}
    }
    const app = await startApp({ imports: [limits()], controllers: [TracedController] }, setup());
    expect(await statuses(app, '/a', '/b', '/a', '/b')).toEqual([200, 200, 429, 429]);
  });
});

describe.each(FRAMEWORKS)('the spelling of a URL on %s', (framework) => {
  @RateLimit({ ...ONCE, limit: 2 })
  @Controller()
  class AdminController {
    @Get('admin') admin() {}
    @Get('users/:id') user(@Param('id') id: string) {
      return id;
    }
    @Get(['here', 'there']) both() {}
  }
  const start = () =>
    startApp({ imports: [RateLimitModule.forRoot({})], controllers: [AdminController] }, { framework });

  it('different notations of a path share one counter', async () => {
    const app = await start();
    const spellings = [
      '/admin',
      '/admin/',
      '/ADMIN',
      '/%61dmin',
      '//admin',
      '/admin?x',
      '/admin/?',
      '/./admin',
    ];
    const found = await statuses(app, ...spellings);
    const routed = found.filter((status) => status !== 404);
    expect(routed.length).toBeGreaterThanOrEqual(5);
    expect(routed.slice(0, 2)).toEqual([200, 200]);
    expect(new Set(routed.slice(2))).toEqual(new Set([429]));
  });

  it('another parameter, method or path of one handler shares its counter', async () => {
    const app = await start();
    expect(await statuses(app, '/users/1', '/users/2', '/users/3')).toEqual([200, 200, 429]);
    expect(await statuses(app, '/here', '/there', '/here')).toEqual([200, 200, 429]);
    expect(await app.send({ method: 'HEAD', path: '/admin' })).toMatchObject({ status: 200 });
    expect(await statuses(app, '/admin', '/admin')).toEqual([200, 429]);
  });
});
