import { Controller, Injectable, UseInterceptors, type NestInterceptor } from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import { GraphQLModule, Query, Resolver, Subscription } from '@nestjs/graphql';
import {
  ClientProxyFactory,
  MessagePattern,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { from, lastValueFrom, map, of, type Observable } from 'rxjs';
import { io, type Socket } from 'socket.io-client';
import { WebSocket } from 'ws';
import { RateLimit, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { freePort } from '../support/redis/free-port.mjs';

const ESTIMATE = 100;

/** The cost of a text is its length; in a stream, that of all texts. */
const tokens = {
  window: '1m',
  limit: 1000,
  algorithm: 'fixed-window',
  by: 'everyone',
  cost: ESTIMATE,
  settle: (text: string, _context: unknown, total: number) => total + text.length,
} as const;

const mapped: NestInterceptor = { intercept: (_context, next) => next.handle().pipe(map(() => 'mapped')) };
const cached: NestInterceptor = { intercept: () => of('cached') };

let gate: Gate;
let ended: number;

async function* words() {
  try {
    yield 'one';
    await gate.pass();
    yield 'three';
  } finally {
    ended += 1;
  }
}

const wrapped = async function* () {
  for await (const texts of words()) yield { texts };
};

@Controller()
class Messages {
  @UseInterceptors(mapped)
  @RateLimit('tokens')
  @MessagePattern('value')
  async value() {
    return 'seven b';
  }

  @UseInterceptors(cached)
  @RateLimit('tokens')
  @MessagePattern('cached')
  cached() {
    return 'seven b';
  }

  @RateLimit('tokens')
  @MessagePattern('stream')
  stream(): Observable<string> {
    return from(['one', 'three']);
  }

  @RateLimit('tokens', { onError: 'refund' })
  @MessagePattern('broken')
  broken() {
    throw new Error('no model');
  }
}

@Resolver()
class Queries {
  @UseInterceptors(mapped)
  @RateLimit('tokens')
  @Query(() => String)
  async value() {
    return 'seven b';
  }

  @RateLimit('tokens', { settle: ({ texts }: { texts: string }, _context, total) => total + texts.length })
  @Subscription(() => String)
  texts() {
    return wrapped();
  }
}

@WebSocketGateway()
class Gateway {
  @UseInterceptors(mapped)
  @RateLimit('tokens')
  @SubscribeMessage('value')
  async value() {
    return 'seven b';
  }

  @RateLimit('tokens')
  @SubscribeMessage('stream')
  stream() {
    return from(['one', 'three']);
  }

  @RateLimit('tokens')
  @SubscribeMessage('broken')
  broken() {
    throw new Error('no model');
  }
}

@Injectable()
class Model {
  @RateLimit('tokens')
  async value() {
    return 'seven b';
  }

  @RateLimit('tokens')
  async iterable() {
    return words();
  }

  @RateLimit('tokens')
  async observable() {
    return from(['one', 'three']);
  }

  @RateLimit('tokens')
  async broken(): Promise<string> {
    throw new Error('no model');
  }
}

beforeEach(() => {
  gate = new Gate();
  ended = 0;
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

async function start() {
  const port = await freePort();
  const options = { transport: Transport.TCP, options: { host: '127.0.0.1', port } } as const;
  const started = await startApp(
    {
      imports: [
        GraphQLModule.forRoot({
          driver: ApolloDriver,
          autoSchemaFile: true,
          path: '/graphql',
          subscriptions: { 'graphql-ws': true },
        }),
        RateLimitModule.forRoot({ onDemand: { tokens } }),
      ],
      controllers: [Messages],
      providers: [Queries, Gateway, { provide: Model, useFactory: () => new Model() }],
    },
    {
      framework: 'express',
      configure: (app) => {
        app.connectMicroservice<MicroserviceOptions>(options, { inheritAppConfig: true });
      },
    },
  );
  await started.app.startAllMicroservices();
  const service = started.app.get(RateLimitService);
  const taken = async (): Promise<number> =>
    1000 - (await service.peek('tokens', 'everyone', { cost: 0 })).remaining;
  return {
    ...started,
    options,
    taken,
    untilTaken: (count: number) =>
      until(async () => (await taken()) === count, `${count} permits to be taken`),
  };
}

type App = Awaited<ReturnType<typeof start>>;

async function rpc(app: App, pattern: string): Promise<unknown> {
  const client: ClientProxy = ClientProxyFactory.create(app.options);
  try {
    return await lastValueFrom(client.send<unknown>(pattern, ''));
  } catch {
    return 'failed';
  } finally {
    await client.close();
  }
}

async function ws(app: App, event: string, count = 1): Promise<unknown[]> {
  const socket: Socket = io(`http://127.0.0.1:${app.port}`, { transports: ['websocket'], forceNew: true });
  const received: unknown[] = [];
  socket.onAny((_event, data) => received.push(data));
  if (event === 'stream') socket.emit(event, '', (data: unknown) => received.push(data));
  else socket.emit(event, '', (data: unknown) => received.push(data));
  await until(() => received.length >= count, 'a response');
  socket.disconnect();
  return received;
}

describe('a rule that settles by what a handler outside HTTP returns', () => {
  it.each([
    ['value', 'mapped', 7],
    ['cached', 'cached', 0],
    ['stream', 'three', 8],
    ['broken', 'failed', 0],
  ])('is charged the real cost of the message %s', async (pattern, reply, count) => {
    const app = await start();
    expect(await rpc(app, pattern)).toBe(reply);
    await app.untilTaken(count);
  });

  it.each([
    ['value', 7],
    ['stream', 8],
    ['broken', ESTIMATE],
  ])('is charged the real cost of the event %s of a gateway', async (event, count) => {
    const app = await start();
    await ws(app, event);
    await app.untilTaken(count);
  });

  it('is charged the real cost of a query', async () => {
    const app = await start();
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ value }' });
    const answer = await app.send({ method: 'POST', path: '/graphql', headers, body });
    expect(JSON.parse(answer.body)).toEqual({ data: { value: 'mapped' } });
    await app.untilTaken(7);
  });

  it.each([
    ['all that was sent', false, 8],
    ['what was sent until its client left', true, 3],
  ])('is charged %s of a subscription', async (_title, leaves, count) => {
    const app = await start();
    const client = createClient({
      url: `ws://127.0.0.1:${app.port}/graphql`,
      webSocketImpl: WebSocket,
      lazy: true,
    });
    let received = 0;
    const unsubscribe = client.subscribe(
      { query: 'subscription { texts }' },
      { next: () => (received += 1), error: () => undefined, complete: () => undefined },
    );
    await until(() => received === 1 && gate.inside === 1, 'the first value');
    expect(await app.taken()).toBe(ESTIMATE);
    if (leaves) unsubscribe();
    else gate.open();
    await app.untilTaken(count);
    gate.open();
    await until(() => ended === 1, 'the iterator to be closed');
    await client.dispose();
  });
});

describe('a rule that settles by what a method of a provider returns', () => {
  it('is charged the real cost of a value, and keeps the estimate of a failure', async () => {
    const app = await start();
    const model = app.app.get(Model);
    expect(await model.value()).toBe('seven b');
    await app.untilTaken(7);
    await expect(model.broken()).rejects.toThrow('no model');
    await app.untilTaken(7 + ESTIMATE);
  });

  it('is charged the real cost of an iterable when it has ended', async () => {
    const app = await start();
    const iterable = await app.app.get(Model).iterable();
    const texts: string[] = [];
    for await (const text of iterable) {
      expect(await app.taken()).toBe(ESTIMATE);
      texts.push(text);
      gate.open();
      setImmediate(() => gate.open());
    }
    expect(texts).toEqual(['one', 'three']);
    await app.untilTaken(8);
    expect(ended).toBe(1);
  });

  it('is charged what was read of an iterable that its caller leaves', async () => {
    const app = await start();
    for await (const text of await app.app.get(Model).iterable()) {
      expect(text).toBe('one');
      break;
    }
    await app.untilTaken(3);
    expect(ended).toBe(1);
  });

  it('is charged the real cost of an observable', async () => {
    const app = await start();
    expect(await lastValueFrom(await app.app.get(Model).observable())).toBe('three');
    await app.untilTaken(8);
  });
});
