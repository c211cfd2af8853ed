import {
  Injectable,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type NestInterceptor,
  type Provider,
} from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { from, of, retry, switchMap } from 'rxjs';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';

const TWO = { window: '1m', algorithm: 'fixed-window', by: 'everyone', limit: 2 } as const;

/** Marks a method, as the libraries of queues do. */
const Consumes = SetMetadata('QUEUE_HANDLER', {});

const Retries: NestInterceptor = { intercept: (_, next) => next.handle().pipe(retry(2)) };
const AsksFirst: NestInterceptor = {
  intercept: (_, next) => from(Promise.resolve()).pipe(switchMap(() => next.handle())),
};
const Caches: NestInterceptor = { intercept: () => of('cached') };

@Injectable()
class DeniesAll implements CanActivate {
  canActivate() {
    return false;
  }
}

@Injectable()
class Queue {
  tries = 0;

  @RateLimit({ ...TWO, name: 'parcels' })
  @Consumes
  async store() {
    return 'stored';
  }

  @UseInterceptors(Retries)
  @RateLimit({ ...TWO, name: 'retried' })
  @RateLimit({ name: 'held', limit: 1, algorithm: 'concurrency', by: 'everyone' })
  @Consumes
  async retried() {
    this.tries += 1;
    if (this.tries < 3) throw new Error('broken parcel');
    return `try ${this.tries}`;
  }

  @RateLimit({ ...TWO, name: 'asked' })
  @UseInterceptors(AsksFirst)
  @Consumes
  async asked() {
    return 'asked';
  }

  @RateLimit({ ...TWO, name: 'cached' })
  @UseInterceptors(Caches)
  @Consumes
  async cached() {
    return 'found';
  }

  @RateLimit({ ...TWO, name: 'shut' })
  @UseGuards(DeniesAll)
  @Consumes
  async shut() {
    return 'in';
  }

  @RateLimit({ ...TWO, name: 'again' })
  @Consumes
  async again(later: (again: () => Promise<unknown>) => void) {
    later(() => this.again(() => undefined));
    return 'begun';
  }

  @Consumes
  async free() {
    return 'free';
  }
}

/** Has no rule that needs the end of the handler. */
class Store {
  @RateLimit({ ...TWO, name: 'parcels' })
  @Consumes
  async store() {
    return 'stored';
  }
}

type Handler = (...args: unknown[]) => unknown;

/** What a library states when it creates a handler; by default, the method as its class has it, with all enhancers. */
interface Created {
  /** Replaces the method by a function that calls it. */
  readonly replace?: (method: Handler, queue: Queue) => Handler;
  readonly options?: { readonly guards: boolean; readonly interceptors: boolean; readonly filters: boolean };
}

async function startQueue(provider: Provider = Queue, limits: RateLimitModuleOptions = {}) {
  const metadata = { imports: [RateLimitModule.forRoot(limits)], providers: [provider, DeniesAll] };
  const { app } = await startApp(metadata, { framework: 'express' });
  const queue = app.get(Queue);
  const creator = app.get(ExternalContextCreator, { strict: false });
  const create = (name: Exclude<keyof Queue, 'tries'>, { replace, options }: Created = {}) => {
    const method = queue[name] as Handler;
    const none = undefined;
    const handler = replace?.(method, queue) ?? method;
    const run = creator.create(queue, handler, name, none, none, none, none, options, 'queue');
    return async (...args: unknown[]) => ended(run(...args) as Promise<unknown>);
  };
  return { queue, create };
}

/** Binds a method with its metadata, as @golevelup/nestjs-rabbitmq does. */
function bind(method: Handler, queue: Queue): Handler {
  const bound: Handler = method.bind(queue);
  for (const key of Reflect.getMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), bound);
  }
  return bound;
}

/** Returns the result of a call, or the status of its exception. */
async function ended(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => (error as { readonly status?: number }).status ?? error);
}

afterEach(closeApps);

describe('a limited method that a library calls through the guards of Nest', () => {
  it('is limited as well when the program calls it itself, and once for each call', async () => {
    const { queue, create } = await startQueue();
    const deliver = create('store');
    expect([await deliver(), await queue.store()]).toEqual(['stored', 'stored']);
    expect([await ended(queue.store()), await deliver()]).toEqual([429, 429]);
  });

  it('stays limited for calls of the program when a call of the library is denied', async () => {
    const { queue, create } = await startQueue();
    expect([await queue.store(), await queue.store(), await create('store')()]).toEqual([
      'stored',
      'stored',
      429,
    ]);
    expect(await ended(queue.store())).toBe(429);
  });

  it('stays limited for calls of the program when a later guard denies those of the library', async () => {
    const { queue, create } = await startQueue();
    expect([await create('shut')(), await queue.shut()]).toEqual([403, 'in']);
    expect(await ended(queue.shut())).toBe(429);
  });

  it('is limited for calls of the program if a factory provides its class', async () => {
    const { queue, create } = await startQueue({
      provide: Queue,
      useFactory: () => new Store(),
    });
    const deliver = create('store');
    expect([await deliver(), await queue.store()]).toEqual(['stored', 'stored']);
    expect([await ended(queue.store()), await deliver()]).toEqual([429, 429]);
  });

  it('counts once if an interceptor calls it several times', async () => {
    const { create } = await startQueue();
    const deliver = create('retried');
    expect([await deliver(), await deliver(), await deliver()]).toEqual(['try 3', 'try 4', 429]);
  });

  it('counts once if an interceptor calls it only when it has asked for something', async () => {
    const { create } = await startQueue();
    const deliver = create('asked');
    expect([await deliver(), await deliver(), await deliver()]).toEqual(['asked', 'asked', 429]);
  });

  it('counts once if an interceptor answers in its place, and the next call of the program counts', async () => {
    const { queue, create } = await startQueue();
    expect([await create('cached')(), await queue.cached()]).toEqual(['cached', 'found']);
    expect(await ended(queue.cached())).toBe(429);
  });

  it('counts the calls that it makes itself, also later', async () => {
    const { create } = await startQueue();
    const calls: (() => Promise<unknown>)[] = [];
    expect(await create('again')((again: () => Promise<unknown>) => calls.push(again))).toBe('begun');
    expect([await ended(calls[0]!()), await ended(calls[0]!())]).toEqual(['begun', 429]);
  });

  it('is called and limited if the library binds it to its instance first', async () => {
    const { queue, create } = await startQueue(Queue, { rules: { default: { window: '1m', limit: 1 } } });
    const [free, store] = [create('free', { replace: bind }), create('store', { replace: bind })];
    expect([await free(), await free()]).toEqual(['free', 'free']);
    expect([await store(), await queue.store()]).toEqual(['stored', 'stored']);
    expect([await store(), await ended(queue.store())]).toEqual([429, 429]);
  });

  it('is called and limited by itself if the library calls another function, which calls it', async () => {
    const { create } = await startQueue();
    const replace = (method: Handler, queue: Queue): Handler => ((args) => args)(() => method.call(queue));
    const [free, store] = [create('free', { replace }), create('store', { replace })];
    expect([await free(), await store(), await store(), await store()]).toEqual([
      'free',
      'stored',
      'stored',
      429,
    ]);
  });

  it('is limited by itself if the library runs interceptors and no guards', async () => {
    const { create } = await startQueue();
    const deliver = create('store', { options: { guards: false, interceptors: true, filters: true } });
    expect([await deliver(), await deliver(), await deliver()]).toEqual(['stored', 'stored', 429]);
  });

  it('is limited by its guard and by itself if the library runs guards and no interceptors', async () => {
    const { create } = await startQueue();
    const deliver = create('store', { options: { guards: true, interceptors: false, filters: true } });
    expect([await deliver(), await deliver()]).toEqual(['stored', 429]);
  });
});
