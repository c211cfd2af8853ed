import { forwardRef, Inject, Injectable, Module, Scope, type Provider } from '@nestjs/common';
import { ContextIdFactory, LazyModuleLoader, ModuleRef } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';

const TWO = { window: '1h', limit: 2, by: 'everyone' } as const;

class Geocoder {
  @RateLimit(TWO)
  async locate() {}
}

/** An object whose methods run on another one, as those of tracing libraries do. */
function binding<Target extends object>(target: Target): Target {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name);
      return typeof value === 'function' ? (value.bind(object) as unknown) : value;
    },
  });
}

@Injectable()
class Traced extends Geocoder {
  constructor() {
    super();
    return binding(this);
  }
}

@Injectable()
class Bound {
  constructor() {
    this.locate = this.locate.bind(this);
  }

  @RateLimit(TWO)
  async locate() {}
}

/** A class with the methods of another one, as the mixins in the manual of TypeScript. */
@Injectable()
class Mixed {}
Object.defineProperty(
  Mixed.prototype,
  'locate',
  Object.getOwnPropertyDescriptor(Geocoder.prototype, 'locate')!,
);

@Injectable()
class ByHand {
  async locate() {}
}
const locate = Object.getOwnPropertyDescriptor(ByHand.prototype, 'locate')!;
RateLimit(TWO)(ByHand.prototype, 'locate', locate);

const started = async (providers: readonly Provider[], imports: readonly object[] = []) =>
  (
    await startApp(
      { imports: [...(imports as []), RateLimitModule.forRoot()], providers: [...providers] },
      { framework: 'express' },
    )
  ).app;

/** How many of three calls were allowed. */
async function allowed(call: () => Promise<unknown>): Promise<number> {
  const ends = await Promise.allSettled([call(), call(), call()]);
  return ends.filter(({ status }) => status === 'fulfilled').length;
}

const resolved = (from: ModuleRef, token: string | typeof Geocoder): Promise<Geocoder> =>
  from.resolve<Geocoder>(token, ContextIdFactory.create(), { strict: false });

afterEach(closeApps);

describe('@RateLimit on a method limits the calls of', () => {
  it.each([
    ['a request-scoped', Scope.REQUEST],
    ['a transient', Scope.TRANSIENT],
  ])('the objects of %s factory', async (_, scope) => {
    const app = await started([{ provide: 'geocoder', scope, useFactory: () => new Geocoder() }]);
    expect(await allowed(async () => (await resolved(app.get(ModuleRef), 'geocoder')).locate())).toBe(2);
  });

  it.each<[string, Provider]>([
    ['a value behind a Proxy', { provide: 'geocoder', useValue: binding(new Geocoder()) }],
    [
      'an object with a value as its prototype',
      { provide: 'geocoder', useValue: Object.create(new Geocoder()) as object },
    ],
    ['a class whose constructor returns a Proxy', { provide: 'geocoder', useClass: Traced }],
    ['a class that binds its methods', { provide: 'geocoder', useClass: Bound }],
    ['a class that was given the methods of another', { provide: 'geocoder', useClass: Mixed }],
    ['a class whose decorator was called as a function', { provide: 'geocoder', useClass: ByHand }],
  ])('%s', async (_, provider) => {
    const app = await started([provider]);
    const geocoder = app.get<Geocoder>('geocoder');
    expect(await allowed(() => geocoder.locate())).toBe(2);
  });

  it('the method alone, without its object', async () => {
    await started([]);
    const { locate } = Geocoder.prototype;
    expect(await allowed(() => locate())).toBe(2);
  });

  it('a module without the providers of RateLimitModule', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends Geocoder {}

    @Module({ providers: [Scoped] })
    class Maps {}
    const imports = [Maps, RateLimitModule.forRoot({ isGlobal: false })];
    const { app } = await startApp({ imports }, { framework: 'fastify' });
    expect(await allowed(async () => (await resolved(app.get(ModuleRef), Scoped)).locate())).toBe(2);
  });

  it('a factory in a module that is loaded lazily', async () => {
    @Module({ providers: [{ provide: 'geocoder', useFactory: () => new Geocoder() }] })
    class Maps {}
    const app = await started([]);
    const geocoder = (await app.get(LazyModuleLoader).load(() => Maps)).get<Geocoder>('geocoder');
    expect(await allowed(() => geocoder.locate())).toBe(2);
  });

  it('the object of a constructor that Nest replaces because of a circular dependency', async () => {
    const first: { call?: () => Promise<unknown> } = {};

    @Injectable()
    class Maps {
      constructor(@Inject(forwardRef(() => Finder)) readonly finder: object) {}
    }

    @Injectable()
    class Finder {
      constructor(@Inject(forwardRef(() => Maps)) readonly maps: object) {
        first.call = () => this.locate();
      }

      @RateLimit(TWO)
      async locate() {}
    }
    await started([Finder, Maps]);
    expect(await allowed(first.call!)).toBe(2);
  });
});

describe('@RateLimit on a method reports a call that it cannot limit', () => {
  const WARNING = {
    level: 'warn',
    message: expect.stringMatching(/locate: a call was not limited, .*RL_UNREACHED_METHOD/),
  };

  @Injectable()
  class Early extends Geocoder {
    constructor(@Inject('isCalled') isCalled: boolean) {
      super();
      if (isCalled) void this.locate();
    }
  }

  const later = { provide: 'later', inject: [Early], useFactory: (early: Early) => early.locate() };

  it.each<[string, Provider[]]>([
    ['a constructor', [{ provide: 'isCalled', useValue: true }]],
    ['a factory', [{ provide: 'isCalled', useValue: false }, later]],
  ])('of %s, before RateLimitModule has started', async (_, providers) => {
    @Module({ providers: [Early, ...providers] })
    class Maps {}
    const imports = [Maps, RateLimitModule.forRoot()];
    const { logs } = await startApp({ imports }, { framework: 'express' });
    expect(logs.ours()).toContainEqual(WARNING);
  });

  it('on an object that Nest has not created while two applications run', async () => {
    const metadata = { imports: [RateLimitModule.forRoot()] };
    await startApp(metadata, { framework: 'express' });
    const { logs } = await startApp(metadata, { framework: 'express' });
    expect(await allowed(() => new Geocoder().locate())).toBe(3);
    expect(logs.ours()).toContainEqual(WARNING);
  });
});
