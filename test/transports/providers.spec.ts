import { Injectable, Scope, SetMetadata, type Type } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  byArguments,
  RateLimit,
  RateLimitExceededException,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { Gate } from '../support/gate.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;

const gate = new Gate();

@Injectable()
class Geocoder {
  readonly found: string[] = [];

  @RateLimit('geocoder')
  async locate(address: string) {
    this.found.push(address);
    return `${address}!`;
  }

  @RateLimit({
    ...MINUTE,
    name: 'tenant',
    limit: 1,
    by: byArguments((_address: string, tenant: string) => tenant),
  })
  async locateFor(address: string, tenant: string) {
    return `${address} of ${tenant}`;
  }

  @RateLimit({ ...MINUTE, name: 'failing', limit: 1, by: 'everyone', count: 'failures' })
  async call(works: boolean) {
    if (!works) throw new Error('no route to host');
    return 'ok';
  }

  @RateLimit({ name: 'slow', algorithm: 'concurrency', limit: 1, by: 'everyone' })
  async slow() {
    await gate.pass();
  }

  async free() {
    return 'free';
  }
}

afterEach(closeApps);

const onDemand = { geocoder: { ...MINUTE, limit: 2 } } as const;

async function start(options: RateLimitModuleOptions = {}) {
  const imports = [RateLimitModule.forRoot({ onDemand, ...options })];
  const { app, logs } = await startApp({ imports, providers: [Geocoder] }, { framework: 'express' });
  return { geocoder: app.get(Geocoder), logs };
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('@RateLimit on a method of a provider', () => {
  it('limits the calls of all callers together, and a denied call throws the decision', async () => {
    const { geocoder, logs } = await start();
    expect([await geocoder.locate('a'), await geocoder.locate('b')]).toEqual(['a!', 'b!']);
    const error = await rejection(geocoder.locate('c'));
    expect(error).toBeInstanceOf(RateLimitExceededException);
    expect((error as RateLimitExceededException).decision).toMatchObject({
      rule: 'geocoder',
      allowed: false,
    });
    expect(geocoder.found).toEqual(['a', 'b']);
    const lines = logs.ours().filter(({ message }) => message.includes('RL_CALLERS_TOGETHER'));
    expect(lines).toHaveLength(1);
  });

  it('byArguments gives each subject in the arguments a counter', async () => {
    const { geocoder } = await start();
    expect(await geocoder.locateFor('a', 'ada')).toBe('a of ada');
    expect(await geocoder.locateFor('a', 'grace')).toBe('a of grace');
    expect(await rejection(geocoder.locateFor('a', 'ada'))).toBeInstanceOf(RateLimitExceededException);
  });

  it("count: 'failures' counts calls that throw", async () => {
    const { geocoder } = await start();
    expect(await geocoder.call(true)).toBe('ok');
    await until(async () => (await rejection(geocoder.call(true))) === undefined, 'the refund of a success');
    const fails = async () => (await rejection(geocoder.call(false))) as Error;
    await until(async () => (await fails()).message === 'no route to host', 'a failure to count');
    expect(await rejection(geocoder.call(true))).toBeInstanceOf(RateLimitExceededException);
  });

  it('a permit is released when the call ends', async () => {
    const { geocoder } = await start();
    const first = geocoder.slow();
    await until(() => gate.inside === 1, 'the first call');
    expect(await rejection(geocoder.slow())).toBeInstanceOf(RateLimitExceededException);
    gate.open();
    await first;
    await until(async () => {
      const next = rejection(geocoder.slow());
      await until(async () => {
        gate.open();
        return (await Promise.race([next, Promise.resolve('pending')])) !== 'pending';
      }, 'the next call');
      return (await next) === undefined;
    }, 'the permit');
  });

  it('limits no other method, and the rules of the module limit none', async () => {
    const { geocoder } = await start({ rules: { default: { ...MINUTE, limit: 1 } } });
    for (let nth = 1; nth <= 3; nth++) expect(await geocoder.free()).toBe('free');
    expect([await geocoder.locate('a'), await geocoder.locate('b')]).toEqual(['a!', 'b!']);
  });

  it('keeps the metadata of the method', async () => {
    const Marked = provider(SetMetadata('swagger/marked', 'yes'));
    const imports = [RateLimitModule.forRoot({})];
    const { app } = await startApp({ imports, providers: [Marked] }, { framework: 'express' });
    const mailer = app.get<Record<string, object>>(Marked);
    expect(Reflect.getMetadata('swagger/marked', mailer['send']!)).toBe('yes');
    expect(mailer['send']).not.toBe((Marked.prototype as Record<string, unknown>)['send']);
  });
});

function provider(...decorators: MethodDecorator[]): Type {
  @Injectable()
  class Mailer {
    @RateLimit({ ...MINUTE, limit: 1, by: 'everyone' })
    async send() {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Mailer.prototype, 'send')!;
  for (const apply of decorators) apply(Mailer.prototype, 'send', descriptor);
  return Mailer;
}

describe('a method of a provider that cannot be limited stops the application', () => {
  const refusal = (...providers: Type[]) =>
    refusalToStart({ imports: [RateLimitModule.forRoot({})], providers });

  it('a synchronous method stops the application', async () => {
    @Injectable()
    class Mailer {
      @RateLimit({ ...MINUTE, limit: 1 })
      send(): string {
        return 'sent';
      }
    }
    expect(await refusal(Mailer)).toBe(
      configMessage(
        '@RateLimit on Mailer.send: the method is synchronous, and a limit is not; make it async, or use RateLimitService.consume() in the method',
      ),
    );
  });

  it('a method whose type does not show that it is synchronous fails at its first call', async () => {
    @Injectable()
    class Mailer {
      @RateLimit({ ...MINUTE, limit: 1 })
      send() {
        return 'sent';
      }
    }
    const imports = [RateLimitModule.forRoot({})];
    const { app } = await startApp({ imports, providers: [Mailer] }, { framework: 'express' });
    const sent = app.get(Mailer).send() as unknown as Promise<unknown>;
    await expect(sent).rejects.toThrow('the method returned no promise');
  });

  it('a request-scoped provider stops the application', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Mailer {
      @RateLimit({ ...MINUTE, limit: 1 })
      async send() {}
    }
    expect(await refusal(Mailer)).toBe(
      configMessage(
        '@RateLimit on Mailer.send: its provider is request-scoped or transient; allowed: a singleton, or RateLimitService.consume() in the method',
      ),
    );
  });

  it("by: 'ip' stops the application, since a call has no client address", async () => {
    @Injectable()
    class Mailer {
      @RateLimit({ ...MINUTE, limit: 1, by: ['ip', 'user'] })
      async send() {}
    }
    expect(await refusal(Mailer)).toBe(
      configMessage(
        'rule "default" of Mailer.send.by: got "ip", but a call of a method has no client address; allowed: ' +
          '"everyone", or a function that finds the subject in the arguments: by: (context) => context.getArgByIndex(0).tenant',
      ),
    );
  });
});
