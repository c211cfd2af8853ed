import { Controller, UseInterceptors, type NestInterceptor, type Type } from '@nestjs/common';
import { Query, Resolver, Subscription } from '@nestjs/graphql';
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod } from '@nestjs/microservices';
import type { sendUnaryData, ServerDuplexStream, ServerReadableStream } from '@grpc/grpc-js';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { INestApplicationContext } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { from, map, Observable, of, reduce } from 'rxjs';
import { RateLimit, RateLimitService } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { until } from '../support/redis/until.mjs';
import { ADAPTERS, startGateway } from './gateway-app.js';
import { GRAPHQL, startGraphql } from './graphql-app.js';
import { closeGrpc, startGrpc } from './grpc-app.js';
import { Warnings } from '../../lib/nest/warnings.js';

const LIMIT = 1000;
const ESTIMATE = 100;

/** The cost of a text is its length; in a stream, that of all texts. */
const tokens = {
  window: '1m',
  limit: LIMIT,
  algorithm: 'fixed-window',
  by: 'everyone',
  cost: ESTIMATE,
  settle: (text: string, _context: unknown, total: number) => total + text.length,
} as const;

const LIMITS = { onDemand: { tokens } } as const;

const mapped: NestInterceptor = { intercept: (_context, next) => next.handle().pipe(map(() => 'mapped')) };
const cached: NestInterceptor = { intercept: () => of('cached') };

let gate: Gate;
const closing: (() => Promise<void>)[] = [];

beforeEach(() => {
  gate = new Gate();
});
afterEach(async () => {
  gate.open();
  await Promise.all(closing.splice(0).map((close) => close()));
  await closeGrpc();
});

function meter(app: Pick<INestApplicationContext, 'get'>) {
  const service = app.get(RateLimitService);
  const taken = async () => LIMIT - (await service.peek('tokens', 'everyone', { cost: 0 })).remaining;
  const untilTaken = (count: number) =>
    until(async () => (await taken()) === count, `${count} permits to be taken`);
  return { taken, untilTaken };
}

@WebSocketGateway()
class Gateway {
  @UseInterceptors(mapped)
  @RateLimit('tokens')
  @SubscribeMessage('value')
  async value() {
    return 'seven b';
  }

  @UseInterceptors(cached)
  @RateLimit('tokens')
  @SubscribeMessage('cached')
  cached() {
    return 'seven b';
  }

  @RateLimit('tokens', { settle: ({ data }: { data: string }, _context, total) => total + data.length })
  @SubscribeMessage('stream')
  stream() {
    return from(['one', 'three']).pipe(map((data) => ({ event: 'stream', data })));
  }

  @RateLimit('tokens', { settle: ({ data }: { data: string }, _context, total) => total + data.length })
  @SubscribeMessage('endless')
  endless() {
    return new Observable<object>((subscriber) => {
      subscriber.next({ event: 'endless', data: 'one' });
      void gate.pass().then(() => {
        subscriber.next({ event: 'endless', data: 'three' });
        subscriber.complete();
      });
    });
  }

  @RateLimit('tokens')
  @SubscribeMessage('broken')
  broken() {
    throw new Error('no model');
  }
}

describe.each(ADAPTERS)('messages of a gateway whose cost is known afterwards, with %s', (adapter) => {
  async function start() {
    const started = await startGateway(adapter, LIMITS, 'express', Gateway as Type);
    closing.push(started.close);
    return { ...started, ...meter(started.app), client: await started.connect() };
  }

  it.each([
    ['the value of a handler, though an interceptor maps it', 'value', 7],
    ['nothing, since a cache responded', 'cached', 0],
    ['all values of a stream', 'stream', 8],
    ['the estimate of a handler that throws', 'broken', ESTIMATE],
  ])('are charged %s', async (_title, event, count) => {
    const { client, untilTaken } = await start();
    client.send(event);
    await untilTaken(count);
  });

  it('keep the estimate while a stream is open, and are charged all of it when it ends', async () => {
    const { client, taken, untilTaken } = await start();
    client.send('endless');
    await until(() => client.received.length === 1 && gate.inside === 1, 'the first value');
    expect(await taken()).toBe(ESTIMATE);
    gate.open();
    await untilTaken(8);
  });
});

const wrapped = async function* () {
  yield { texts: 'one' };
  await gate.pass();
  yield { texts: 'three' };
};

@Resolver()
class Queries {
  @UseInterceptors(mapped)
  @RateLimit('tokens')
  @Query(() => String)
  async value() {
    return 'seven b';
  }

  @UseInterceptors(cached)
  @RateLimit('tokens')
  @Query(() => String)
  cached() {
    return 'seven b';
  }

  @RateLimit('tokens')
  @Query(() => String, { nullable: true })
  broken() {
    throw new Error('no model');
  }

  @RateLimit('tokens', { settle: ({ texts }: { texts: string }, _context, total) => total + texts.length })
  @Subscription(() => String)
  texts() {
    return wrapped();
  }
}

describe.each(GRAPHQL)('operations whose cost is known afterwards, with $title', (setup) => {
  async function start() {
    const started = await startGraphql(setup, LIMITS, Queries as Type);
    closing.push(started.close);
    return { ...started, ...meter(started.app) };
  }

  it.each([
    ['the value of a query, though an interceptor maps it', '{ value }', 7],
    ['nothing, since a cache responded', '{ cached }', 0],
    ['the estimate of a query that throws', '{ broken }', ESTIMATE],
    ['each query of an operation', '{ value other: value }', 14],
  ])('are charged %s', async (_title, text, count) => {
    const { query, untilTaken } = await start();
    await query(text);
    await untilTaken(count);
  });

  it.each([
    ['all that was sent', false, 8],
    ['what was sent until its client left', true, 3],
  ])('are charged %s of a subscription', async (_title, leaves, count) => {
    const { subscribe, taken, untilTaken } = await start();
    const { received, stop } = subscribe('subscription { texts }');
    await until(() => received.length === 1 && gate.inside === 1, 'the first value');
    expect(await taken()).toBe(ESTIMATE);
    if (leaves) stop();
    else gate.open();
    await untilTaken(count);
  });
});

interface Total {
  readonly total: number;
}

interface Numbers {
  readonly numbers?: readonly number[];
}

const totals = { settle: ({ total }: Total, _context: unknown, sum: number) => sum + total } as const;

@Controller()
class Depot {
  @RateLimit('tokens', { settle: ({ total }: Total) => total })
  @GrpcMethod('Depot', 'Sum')
  sum({ numbers = [] }: Numbers) {
    return { total: numbers.length };
  }

  @RateLimit('tokens', totals)
  @GrpcMethod('Depot', 'Ticks')
  ticks() {
    return new Observable<Total>((subscriber) => {
      subscriber.next({ total: 3 });
      void gate.pass().then(() => {
        subscriber.next({ total: 5 });
        subscriber.complete();
      });
    });
  }

  @RateLimit('tokens', totals)
  @GrpcStreamMethod('Depot', 'Collect')
  collect(messages: Observable<Numbers>) {
    return messages.pipe(
      reduce((total, { numbers = [] }) => total + numbers.length, 0),
      map((total) => ({ total })),
    );
  }

  @RateLimit('tokens', totals)
  @GrpcStreamCall('Depot', 'Pour')
  async pour(call: ServerReadableStream<Numbers, Total>, callback: sendUnaryData<Total>) {
    let total = 0;
    call.on('data', ({ numbers = [] }: Numbers) => (total += numbers.length));
    call.on('end', () => callback(null, { total }));
  }

  @RateLimit('tokens', totals)
  @GrpcStreamCall('Depot', 'Fill')
  fill(call: ServerReadableStream<Numbers, Total>, callback: sendUnaryData<Total>) {
    call.on('data', () => callback(new Error('no model')));
  }

  @RateLimit('tokens', totals)
  @GrpcStreamCall('Depot', 'Chat')
  chat(call: ServerDuplexStream<Numbers, object>) {
    call.on('data', ({ numbers = [] }: Numbers) => call.write({ total: numbers.length }));
    call.on('end', () => call.end());
  }

  @RateLimit('tokens', { onError: 'refund' })
  @GrpcMethod('Depot', 'Slow')
  slow() {
    throw new Error('no model');
  }
}

describe('calls of gRPC whose cost is known afterwards', () => {
  type Done = (error: unknown, value: unknown) => void;
  type Call = NodeJS.ReadableStream & NodeJS.WritableStream & { cancel(): void };
  type Methods = Record<'Sum' | 'Slow', (request: Numbers, done: Done) => void> &
    Record<'Ticks', (request: Numbers) => Call> &
    Record<'Collect' | 'Pour' | 'Fill', (done: Done) => NodeJS.WritableStream> &
    Record<'Chat', () => Call>;

  async function start() {
    let found: ReturnType<typeof meter> & { warnings(): unknown };
    const client = await startGrpc(Depot as Type, LIMITS, (app) => {
      found = { ...meter(app), warnings: () => [...app.get(Warnings).active.keys()] };
    });
    const methods = client as never as Methods;
    const unary = (method: 'Sum' | 'Slow', request: Numbers) =>
      new Promise((resolve) => methods[method](request, (error, value) => resolve(error ?? value)));
    const open = (call: Call) => {
      const received: unknown[] = [];
      call.on('data', (value) => received.push(value));
      call.on('error', () => undefined);
      return { call, received };
    };
    return {
      ...found!,
      unary,
      ticks: () => open(methods.Ticks({})),
      chat: () => open(methods.Chat()),
      unaryStream: (method: 'Collect' | 'Pour' | 'Fill', ...requests: Numbers[]) =>
        new Promise((resolve) => {
          const sent = methods[method]((error, value) => resolve(error ?? value));
          for (const each of requests) sent.write(each as never);
          sent.end();
        }),
    };
  }

  it('are charged the value of a handler, and refunded when it throws', async () => {
    const { unary, untilTaken } = await start();
    expect(await unary('Sum', { numbers: [1, 2, 3] })).toEqual({ total: 3 });
    await untilTaken(3);
    await unary('Slow', {});
    await untilTaken(3);
  });

  it('are charged the result of a stream of requests', async () => {
    const { unaryStream, untilTaken } = await start();
    expect(await unaryStream('Collect', { numbers: [1, 2] }, { numbers: [3, 4] })).toEqual({ total: 4 });
    await untilTaken(4);
  });

  it.each([
    ['all that was sent', false, 8],
    ['what was sent until its client left', true, 3],
  ])('are charged %s of a stream of responses', async (_title, leaves, count) => {
    const { ticks, taken, untilTaken } = await start();
    const { call, received } = ticks();
    await until(() => received.length === 1 && gate.inside === 1, 'the first value');
    expect(await taken()).toBe(ESTIMATE);
    if (leaves) call.cancel();
    else gate.open();
    await untilTaken(count);
  });

  it.each([
    ['all that a handler has written that ends the call itself', false],
    ['what it had written until its client left', true],
  ])('are charged %s', async (_title, leaves) => {
    const { chat, taken, untilTaken, warnings } = await start();
    const { call, received } = chat();
    call.write({ numbers: [1, 2] } as never);
    call.write({ numbers: [3, 4, 5] } as never);
    await until(() => received.length === 2, 'the responses');
    expect(await taken()).toBe(ESTIMATE);
    if (leaves) call.cancel();
    else call.end();
    await untilTaken(5);
    expect(warnings()).toEqual([]);
  });

  it('are charged the response of a handler that calls back, and the estimate if it calls back with an error', async () => {
    const { unaryStream, untilTaken, warnings } = await start();
    expect(await unaryStream('Pour', { numbers: [1, 2] }, { numbers: [3, 4] })).toEqual({ total: 4 });
    await untilTaken(4);
    expect(await unaryStream('Fill', { numbers: [1] })).toMatchObject({ details: 'no model' });
    await untilTaken(4 + ESTIMATE);
    expect(warnings()).toEqual([]);
  });
});
