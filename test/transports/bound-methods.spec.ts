import { setTimeout as sleep } from 'node:timers/promises';
import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable, Module, Scope, type OnModuleInit, type Provider } from '@nestjs/common';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const TWO = { window: '1h', limit: 2, by: 'everyone' } as const;

const start = (
  imports: readonly object[],
  providers: readonly Provider[],
  options: RateLimitModuleOptions = {},
) =>
  startApp(
    { imports: [...(imports as []), RateLimitModule.forRoot(options)], providers: [...providers] },
    { framework: 'express' },
  );

/** How many of some calls were allowed. */
async function allowed(calls: readonly Promise<unknown>[]): Promise<number> {
  const ends = await Promise.allSettled(calls);
  return ends.filter(({ status }) => status === 'fulfilled').length;
}

afterEach(closeApps);

describe('@RateLimit on a method that a library binds, with the library imported first', () => {
  it('limits the jobs of BullMQ', async () => {
    const url = new URL(redisUrl());
    const connection = { host: url.hostname, port: Number(url.port) };
    const prefix = uniquePrefix();
    const done: string[] = [];

    @Processor('mail', { prefix } as never)
    class Mailer extends WorkerHost {
      @RateLimit(TWO)
      override async process({ name }: { readonly name: string }) {
        done.push(name);
      }
    }

    @Module({ imports: [BullModule.registerQueue({ name: 'mail' })], providers: [Mailer] })
    class MailModule {}

    await start([BullModule.forRoot({ connection, prefix }), MailModule], []);
    const queue = new Queue('mail', { connection, prefix });
    await queue.addBulk(['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, data: {} })));
    await until(async () => (await queue.getJobCountByTypes('completed', 'failed')) === 5, 'all jobs');
    expect(await queue.getJobCounts('completed', 'failed')).toEqual({ completed: 2, failed: 3 });
    expect(done).toHaveLength(2);
    await queue.close();
  });

  it('limits the runs of @Interval and the listeners of @OnEvent', async () => {
    const runs = { interval: 0, event: 0 };

    @Injectable()
    class Reports {
      @RateLimit({ ...TWO, name: 'interval' })
      @Interval(5)
      async refresh() {
        runs.interval += 1;
      }

      @OnEvent('order')
      @RateLimit({ ...TWO, name: 'event' })
      async order() {
        runs.event += 1;
      }
    }

    const imports = [ScheduleModule.forRoot(), EventEmitterModule.forRoot()];
    const { app, logs } = await start(imports, [Reports]);
    const emitter = app.get(EventEmitter2);
    for (let nth = 0; nth < 5; nth++) await emitter.emitAsync('order');
    await until(() => runs.interval === 2, 'the interval');
    await sleep(50);
    expect(runs).toEqual({ interval: 2, event: 2 });
    expect(logs.ours().filter(({ message }) => message.includes('RL_UNREACHED_METHOD'))).toEqual([]);
  });

  it('limits calls that are made before the hooks of RateLimitModule', async () => {
    const log = { done: 0 };

    @Injectable()
    class Warmup implements OnModuleInit {
      async onModuleInit() {
        const bound = this.load.bind(this);
        log.done = await allowed([bound(), bound(), bound()]);
      }

      @RateLimit(TWO)
      async load() {}
    }

    @Module({ providers: [Warmup] })
    class WarmupModule {}
    await start([WarmupModule], []);
    expect(log.done).toBe(2);
  });
});

describe('@RateLimit on a method of a provider', () => {
  it.each([
    ['request-scoped', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('limits all instances together if it is %s', async (_, scope) => {
    @Injectable({ scope })
    class Geocoder {
      @RateLimit(TWO)
      async locate() {
        return 'found';
      }
    }
    const { app } = await start([], [Geocoder]);
    const calls = [1, 2, 3].map(async () => {
      const geocoder = await app
        .get(ModuleRef)
        .resolve(Geocoder, ContextIdFactory.create(), { strict: false });
      return geocoder.locate();
    });
    expect(await allowed(calls)).toBe(2);
  });

  it('counts a call once that calls the method which it overrides', async () => {
    @Injectable()
    class Base {
      readonly found: string[] = [];

      @RateLimit({ ...TWO, limit: 1, name: 'base' })
      async locate() {
        this.found.push('base');
      }
    }

    @Injectable()
    class Derived extends Base {
      @RateLimit({ ...TWO, name: 'derived' })
      override async locate() {
        await super.locate();
      }
    }

    const { app } = await start([], [Base, Derived]);
    const derived = app.get(Derived);
    expect(await allowed([derived.locate(), derived.locate(), derived.locate()])).toBe(2);
    expect(derived.found).toEqual(['base', 'base']);
    expect(await allowed([app.get(Base).locate(), app.get(Base).locate()])).toBe(1);
  });

  it('limits the calls of `super.method()` in another method by the rules of the method that overrides it', async () => {
    @Injectable()
    class Base {
      @RateLimit({ ...TWO, limit: 1, name: 'base' })
      async locate() {}
    }

    @Injectable()
    class Derived extends Base {
      @RateLimit({ ...TWO, name: 'derived' })
      override async locate() {
        await super.locate();
      }

      async refresh() {
        await super.locate();
      }
    }

    const { app } = await start([], [Derived]);
    const derived = app.get(Derived);
    expect(await allowed([derived.refresh(), derived.locate(), derived.refresh(), derived.locate()])).toBe(2);
  });

  it('limits inherited methods, and the calls of `super` of an override without a decorator', async () => {
    @Injectable()
    class Base {
      @RateLimit(TWO)
      async locate() {}

      @RateLimit(TWO)
      async inherited() {}
    }

    @Injectable()
    class Derived extends Base {
      override async locate() {
        await super.locate();
      }
    }
    const { app } = await start([], [Derived]);
    const derived = app.get(Derived);
    expect(await allowed([derived.locate(), derived.locate(), derived.locate()])).toBe(2);
    expect(await allowed([derived.inherited(), derived.inherited(), derived.inherited()])).toBe(2);
  });

  it('passes calls through without an application', async () => {
    class Alone {
      @RateLimit(TWO)
      async locate(address: string) {
        return address;
      }
    }
    const alone = new Alone();
    for (const address of ['a', 'b', 'c']) expect(await alone.locate(address)).toBe(address);
    expect(alone.locate).toHaveLength(1);
    expect(alone.locate.name).toBe('locate');
  });

  it('limits the instances of factories and values', async () => {
    class Geocoder {
      @RateLimit(TWO)
      async locate() {}
    }
    for (const provider of [
      { provide: 'geocoder', useFactory: () => new Geocoder() },
      { provide: 'geocoder', useValue: Object.freeze(new Geocoder()) },
    ]) {
      const { app } = await start([], [provider]);
      const geocoder = app.get<Geocoder>('geocoder');
      expect(await allowed([geocoder.locate(), geocoder.locate(), geocoder.locate()])).toBe(2);
    }
  });

  it('stops the application if an instance has another function in place of the method', async () => {
    class Geocoder {
      @RateLimit(TWO)
      async locate() {}
    }
    const geocoder = Object.assign(new Geocoder(), { locate: async () => 'not limited' });
    const imports = [RateLimitModule.forRoot()];
    expect(await refusalToStart({ imports, providers: [{ provide: 'geocoder', useValue: geocoder }] })).toBe(
      configMessage(
        '@RateLimit on Geocoder.locate: an instance has another function in place of the method, which is not limited; ' +
          'remove the property, or use RateLimitService.consume() in it',
      ),
    );
  });

  it('can be part of the options of the module', async () => {
    @Injectable()
    class Tenants {
      @RateLimit(TWO)
      async limit() {
        return 3;
      }
    }

    @Module({ providers: [Tenants], exports: [Tenants] })
    class TenantsModule {}
    const { app } = await startApp(
      {
        imports: [
          RateLimitModule.forRootAsync({
            imports: [TenantsModule],
            inject: [Tenants],
            useFactory: (_tenants: Tenants) => ({}),
          }),
        ],
      },
      { framework: 'express' },
    );
    const tenants = app.get(Tenants, { strict: false });
    expect(await allowed([tenants.limit(), tenants.limit(), tenants.limit()])).toBe(2);
  });

  it('keeps applications in one process apart, and an open one limited when another has closed', async () => {
    @Injectable()
    class Geocoder {
      @RateLimit(TWO)
      async locate() {}
    }
    const apps = [await start([], [Geocoder]), await start([], [Geocoder])];
    const [first, second] = apps.map(({ app }) => app.get(Geocoder));
    expect(await allowed([first!.locate(), first!.locate(), first!.locate()])).toBe(2);
    await apps[0]!.close();
    expect(await allowed([second!.locate(), second!.locate(), second!.locate()])).toBe(2);
  });
});
