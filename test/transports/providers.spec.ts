import { Controller, Get, Injectable, SetMetadata, type Type } from '@nestjs/common';
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
  });
});

describe('`maxWait` on a method of a provider', () => {
  const quick = { window: '100ms', limit: 2 } as const;
  const RULES: readonly RateLimitModuleOptions['onDemand'][] = [
    { geocoder: { ...quick, algorithm: 'gcra', burst: 1 } },
    { geocoder: { ...quick, algorithm: 'token-bucket' } },
    { geocoder: { ...quick, algorithm: 'leaky-bucket' } },
    { geocoder: { ...quick, algorithm: 'sliding-window-log' } },
    { geocoder: { ...quick, algorithm: 'fixed-window' } },
    { geocoder: { limit: 2, algorithm: 'concurrency' } },
  ];

  @Injectable()
  class Patient {
    readonly found: string[] = [];

    @RateLimit('geocoder', { maxWait: '1m' })
    async locate(address: string) {
      this.found.push(address);
      return address;
    }
  }

  @Injectable()
  class Both {
    @RateLimit({ ...MINUTE, name: 'daily', limit: 3, by: 'everyone' })
    @RateLimit({ ...quick, name: 'quick', algorithm: 'sliding-window-log', by: 'everyone', maxWait: '1m' })
    async locate() {
      return 'found';
    }
  }

  const startWith = async <Located extends { locate(address?: string): Promise<string> }>(
    type: Type<Located>,
    limits: RateLimitModuleOptions = {},
  ) => {
    const imports = [RateLimitModule.forRoot(limits)];
    const { app } = await startApp({ imports, providers: [type] }, { framework: 'express' });
    return app.get(type);
  };

  it.each(RULES)('a call waits for its permits, first come, first served: %j', async (onDemand) => {
    const patient = await startWith(Patient, { onDemand });
    const addresses = Array.from({ length: 7 }, (_, nth) => `${nth}`);
    expect(await Promise.all(addresses.map((address) => patient.locate(address)))).toEqual(addresses);
    expect(patient.found).toEqual(addresses);
  });

  it.each(RULES.slice(0, 5))('a call whose wait would be longer is denied at once: %j', async (onDemand) => {
    const overrides = { geocoder: { window: '1h' } };
    const patient = await startWith(Patient, { onDemand, overrides });
    const ends = await Promise.all(Array.from({ length: 4 }, () => rejection(patient.locate('a'))));
    const denied = ends.filter((error) => error instanceof RateLimitExceededException);
    expect(denied.length).toBeGreaterThanOrEqual(2);
    expect(denied.every(({ decision }) => decision.retryAfterMs! > 60_000)).toBe(true);
  });

  it('a rule without `wait` beside it denies at once', async () => {
    const both = await startWith(Both);
    await Promise.all([both.locate(), both.locate(), both.locate()]);
    const error = await rejection(both.locate());
    expect((error as RateLimitExceededException).decision).toMatchObject({ rule: 'daily', allowed: false });
  });

  it('waits end with a denial when the application closes', async () => {
    const slow = { geocoder: { window: '1m', limit: 1, algorithm: 'sliding-window-log' } } as const;
    const imports = [RateLimitModule.forRoot({ onDemand: slow })];
    const { app } = await startApp({ imports, providers: [Patient] }, { framework: 'express' });
    const patient = app.get(Patient);
    await patient.locate('a');
    const waiting = rejection(patient.locate('b'));
    await app.close();
    expect(await waiting).toBeInstanceOf(RateLimitExceededException);
  });

  it('stops the application on a handler of requests, unless the rule is of concurrency', async () => {
    @Controller()
    class Orders {
      @RateLimit('geocoder', { maxWait: '2s' })
      @Get()
      list() {}
    }
    const refused = (rule: object) =>
      refusalToStart({
        imports: [RateLimitModule.forRoot({ onDemand: { geocoder: rule as never } })],
        controllers: [Orders],
      });
    expect(await refused({ ...MINUTE, limit: 1 })).toBe(
      configMessage(
        'rule "geocoder" of Orders.list.maxWait: got "2s"; allowed: none on this handler, since only calls of provider methods ' +
          'wait for permits of a window; requests wait with algorithm "concurrency", or are delayed with "leaky-bucket"',
      ),
    );
    await expect(refused({ limit: 1, algorithm: 'concurrency' })).rejects.toThrow('the app started');
  });

  it('stops the application beside a rule of concurrency', async () => {
    @Injectable()
    class Mixed {
      @RateLimit({ name: 'held', limit: 1, algorithm: 'concurrency', by: 'everyone' })
      @RateLimit('1m', 1, 'gcra', { maxWait: '2s', by: 'everyone' })
      async locate() {}
    }
    const imports = [RateLimitModule.forRoot({})];
    expect(await refusalToStart({ imports, providers: [Mixed] })).toBe(
      configMessage(
        'rule "default" of Mixed.locate.maxWait: got "2s"; allowed: none beside rule "held", whose permits are held: limit ' +
          'another method, which calls this one',
      ),
    );
  });

  it('a wait without a unit stops the application', async () => {
    const maxWait = String(2);
    @Injectable()
    class Wrong {
      @RateLimit({ ...MINUTE, limit: 1, by: 'everyone', maxWait })
      async locate() {}
    }
    const imports = [RateLimitModule.forRoot({})];
    expect(await refusalToStart({ imports, providers: [Wrong] })).toContain('write "2s" or "2ms"');
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

  it('a generator stops the application, whose iteration would fail without a limit', async () => {
    @Injectable()
    class Mailer {
      @RateLimit({ ...MINUTE, limit: 1 })
      async *send() {
        yield await Promise.resolve('sent');
      }
    }
    expect(await refusal(Mailer)).toContain('@RateLimit on Mailer.send: the method is a generator');
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
