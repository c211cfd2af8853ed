import {
  Controller,
  Get,
  Injectable,
  Module,
  UseGuards,
  type CanActivate,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, RateLimitModule } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

const ONE = { window: '1m', limit: 1, algorithm: 'fixed-window' } as const;

const CONSUME = 'limit the call in the method with RateLimitService.consume()';

const withRules = (extras: object = {}) => RateLimitModule.forRoot({ ...extras });

/** The metadata of Nest's own decorators, without the optional packages. */
function decorate(type: Type, method: string, key: string): void {
  const { prototype } = type as { prototype: Record<string, object> };
  Reflect.defineMetadata(key, true, prototype[method]!);
}

function provider(...decorators: MethodDecorator[]) {
  @Injectable()
  class Mailer {
    @RateLimit(ONE)
    send() {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Mailer.prototype, 'send')!;
  for (const apply of decorators) apply(Mailer.prototype, 'send', descriptor);
  return Mailer;
}

@Injectable()
class Other implements CanActivate {
  canActivate() {
    return true;
  }
}

afterEach(closeApps);

describe('@RateLimit on a method that no guard reaches stops the application', () => {
  const refusal = (...providers: Type[]) => refusalToStart({ imports: [withRules()], providers });

  it('@RateLimit on the class of a provider stops the application', async () => {
    @RateLimit(ONE)
    @Injectable()
    class Mailer {
      send() {}
    }
    expect(await refusal(Mailer)).toBe(
      configMessage(
        '@RateLimit on Mailer: no method of this provider is a handler, so no guard limits it; write @RateLimit on its asynchronous methods',
      ),
    );
  });

  it('@RateLimit on a method of a controller that is not a route stops the application', async () => {
    @Controller()
    class Routes {
      @RateLimit(ONE)
      helper() {}
      @Get() get() {}
    }
    expect(await refusalToStart({ imports: [withRules()], controllers: [Routes] })).toBe(
      configMessage(
        `@RateLimit on Routes.helper: this method is not a handler: no guard limits it; ${CONSUME}`,
      ),
    );
  });

  it('@RateLimit on a route stops the application if the controller has another function in its place', async () => {
    class Base {
      @RateLimit(ONE)
      @Get()
      get() {}
    }
    @Controller()
    class Routes extends Base {
      override get = () => undefined;
    }
    expect(await refusalToStart({ imports: [withRules()], controllers: [Routes] })).toBe(
      configMessage(
        '@RateLimit on Routes.get: an instance has another function in place of the method, which is not limited; ' +
          'remove the property, or use RateLimitService.consume() in it',
      ),
    );
  });

  it('@RateLimit limits a route that the constructor of its controller has bound', async () => {
    @Controller()
    class Routes {
      constructor() {
        this.get = this.get.bind(this);
      }

      @RateLimit(ONE)
      @Get()
      get() {}
    }
    const { get } = await startApp(
      { imports: [withRules()], controllers: [Routes] },
      { framework: 'express' },
    );
    expect([(await get('/')).status, (await get('/')).status]).toEqual([200, 429]);
  });

  it.each([
    ['a gateway', 'websockets:message_mapping'],
    ['a message pattern', 'microservices:pattern'],
  ])(
    '@RateLimit on a handler of %s stops the application if no guard is registered or named there',
    async (_title, key) => {
      const Handlers = provider();
      decorate(Handlers, 'send', key);
      if (key.startsWith('websockets')) Reflect.defineMetadata('websockets:is_gateway', true, Handlers);
      const imports = [withRules({ registerGuard: false })];
      expect(await refusalToStart({ imports, providers: [Handlers] })).toBe(
        configMessage(
          '@RateLimit on Mailer.send: no guard limits this handler, since registerGuard is false; add @UseGuards(RateLimitGuard)',
        ),
      );
      UseGuards(RateLimitGuard)(Handlers);
      await startApp({ imports, providers: [Handlers] }, { framework: 'express' });
    },
  );

  it('@RateLimit on a field resolver stops the application unless guards run for fields', async () => {
    const Resolver = provider();
    decorate(Resolver, 'send', 'graphql:resolve_property');
    expect(await refusal(Resolver)).toContain("set fieldResolverEnhancers: ['guards'] in GraphQLModule");
    const options = { provide: 'GqlModuleOptions', useValue: { fieldResolverEnhancers: ['guards'] } };
    const metadata = { imports: [withRules()], providers: [Resolver, options] };
    await startApp(metadata, { framework: 'express' });
  });

  it('@RateLimit on a field resolver stops the application if guards run for fields of another GraphQL server only', async () => {
    const Resolver = provider();
    decorate(Resolver, 'send', 'graphql:resolve_property');
    const moduleOf = (...providers: Provider[]) => {
      @Module({ providers })
      class Part {}
      return Part;
    };
    const own = moduleOf(Resolver);
    const server = (useValue: object) => moduleOf({ provide: 'GqlModuleOptions', useValue });
    const guarded = { fieldResolverEnhancers: ['guards'] };
    const withServers = (...options: object[]) => ({ imports: [withRules(), own, ...options.map(server)] });
    const unguarded = withServers({ include: [own] }, guarded);
    expect(await refusalToStart(unguarded)).toContain("set fieldResolverEnhancers: ['guards']");
    const others = withServers({ ...guarded, include: [own] }, { include: [moduleOf()] });
    await startApp(others, { framework: 'express' });
  });

  it('@RateLimit stops the application when the guard is not registered and on no route', async () => {
    @Controller()
    class Routes {
      @RateLimit(ONE)
      @Get()
      get() {}
    }
    const imports = [withRules({ registerGuard: false })];
    expect(await refusalToStart({ imports, controllers: [Routes] })).toBe(
      configMessage(
        '@RateLimit on Routes.get: no guard limits this handler, since registerGuard is false; add @UseGuards(RateLimitGuard)',
      ),
    );
    UseGuards(RateLimitGuard)(Routes);
    await startApp({ imports, controllers: [Routes] }, { framework: 'express' });
  });
});

describe('@RateLimit on a method that another guard or library may reach is one warning', () => {
  const warnings = (lines: readonly { readonly message: unknown }[]) =>
    lines.map(({ message }) => String(message)).filter((text) => text.includes('RL_UNREACHED_METHOD'));

  it('@RateLimit with only other guards is one warning', async () => {
    @Controller()
    class Routes {
      @RateLimit(ONE)
      @Get()
      get() {}
    }
    const metadata = {
      imports: [withRules({ registerGuard: false })],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: Other }],
    };
    const { logs } = await startApp(metadata, { framework: 'express' });
    expect(warnings(logs.ours())).toHaveLength(1);
  });
});

describe('@RateLimit under a decorator that replaces the method', () => {
  const Traced: MethodDecorator = (_target, _name, descriptor) => {
    const method = descriptor.value as (...args: unknown[]) => unknown;
    descriptor.value = function traced(this: unknown, ...args: unknown[]) {
      return method.apply(this, args);
    } as never;
  };

  it('@RateLimit under a decorator that replaces the method still limits', async () => {
    @Controller()
    class Routes {
      @Get()
      @Traced
      @RateLimit(ONE)
      get() {}
    }
    const metadata = { imports: [withRules()], controllers: [Routes] };
    const { get } = await startApp(metadata, { framework: 'express' });
    expect([(await get('/')).status, (await get('/')).status]).toEqual([200, 429]);
  });
});
