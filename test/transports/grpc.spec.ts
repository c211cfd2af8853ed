import type { ClientWritableStream, ServiceError } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { GrpcMethod, GrpcStreamMethod } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, map, Observable, reduce } from 'rxjs';
import { RateLimit, type RateLimitModuleOptions } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { until } from '../support/redis/until.mjs';
import { closeGrpc, expectDenied, startGrpc } from './grpc-app.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window', by: 'everyone' } as const;
const ONE_AT_A_TIME = { algorithm: 'concurrency', limit: 1, by: 'everyone' } as const;

interface Numbers {
  readonly numbers?: readonly number[];
}

let gate = new Gate();

@Controller()
class Depot {
  @RateLimit({ ...MINUTE, name: 'sum', limit: 2 })
  @GrpcMethod('Depot', 'Sum')
  sum({ numbers = [] }: Numbers) {
    return { total: numbers.reduce((sum, each) => sum + each, 0) };
  }

  @RateLimit({ ...ONE_AT_A_TIME, name: 'slow' })
  @GrpcMethod('Depot', 'Slow')
  async slow() {
    await gate.pass();
    return { total: 1 };
  }

  @RateLimit({ ...ONE_AT_A_TIME, name: 'ticks' })
  @GrpcMethod('Depot', 'Ticks')
  ticks() {
    return new Observable<object>((subscriber) => {
      subscriber.next({ total: 1 });
      void gate.pass().then(() => subscriber.complete());
    });
  }

  @RateLimit({ ...ONE_AT_A_TIME, name: 'fill' })
  @GrpcStreamMethod('Depot', 'Fill')
  async fill(_messages: Observable<Numbers>) {
    await gate.pass();
    return { total: 1 };
  }

  @RateLimit({ ...MINUTE, name: 'collect', limit: 1 })
  @GrpcStreamMethod('Depot', 'Collect')
  collect(messages: Observable<Numbers>) {
    return messages.pipe(
      map(({ numbers = [] }) => numbers.length),
      reduce((sum, each) => sum + each, 0),
      map((total) => ({ total })),
    );
  }

  @GrpcMethod('Depot', 'Free')
  free() {
    return { total: 7 };
  }
}

afterEach(async () => {
  gate.open();
  await closeGrpc();
});

async function start(limits: RateLimitModuleOptions = {}) {
  gate = new Gate();
  const client = await startGrpc(Depot, limits);
  const call = (method: string, request: object = {}) =>
    new Promise<unknown>((resolve) => {
      client[method]!(request, (error, value) => resolve(error ?? value));
    });
  const stream = () => (client as never as { Ticks(request: object): NodeJS.ReadableStream }).Ticks({});
  const collect = (...requests: Numbers[]) =>
    new Promise<unknown>((resolve) => {
      type Collect = (done: (error: unknown, value: unknown) => void) => NodeJS.WritableStream;
      const { Collect } = client as never as { Collect: Collect };
      const sent = Collect.call(client, (error, value) => resolve(error ?? value));
      void lastValueFrom(from(requests).pipe(map((each) => sent.write(each as never))), {
        defaultValue: undefined,
      }).then(() => sent.end());
    });
  const fill = (done: (error: unknown, value: unknown) => void) =>
    (client as never as { Fill(done_: typeof done): ClientWritableStream<Numbers> }).Fill(done);
  return { call, collect, stream, fill };
}

describe('limits of gRPC', () => {
  it('a call beyond its limit ends with RESOURCE_EXHAUSTED, problem details and the time to wait', async () => {
    const { call } = await start();
    expect([await call('Sum', { numbers: [1, 2] }), await call('Sum', { numbers: [4] })]).toEqual([
      { total: 3 },
      { total: 4 },
    ]);
    const denied = (await call('Sum')) as ServiceError;
    expectDenied(denied, 'sum');
    expect(Number(denied.metadata.get('retry-after')[0])).toBeGreaterThan(0);
    expect(await call('Free')).toEqual({ total: 7 });
  });

  it('a permit is held until the handler ends', async () => {
    const { call } = await start();
    const first = call('Slow');
    await until(() => gate.inside === 1, 'the first call');
    expectDenied(await call('Slow'), 'slow');
    gate.open();
    expect(await first).toEqual({ total: 1 });
  });

  it('a stream beyond its limit ends with RESOURCE_EXHAUSTED, and one that the client cancels gives its permit back', async () => {
    const { stream } = await start();
    const opened = () => {
      const found: { values: unknown[]; error?: unknown } = { values: [] };
      const of = stream();
      of.on('data', (value) => found.values.push(value));
      of.on('error', (error) => (found.error = error));
      return { found, cancel: () => (of as never as { cancel(): void }).cancel() };
    };
    const first = opened();
    await until(() => first.found.values.length > 0, 'the first value');
    const denied = opened();
    await until(() => denied.found.error !== undefined, 'the denial');
    expectDenied(denied.found.error, 'ticks');
    first.cancel();
    await until(async () => {
      const next = opened();
      await until(() => next.found.values.length > 0 || next.found.error !== undefined, 'the next stream');
      return next.found.values.length > 0;
    }, 'the permit of the cancelled stream');
  });

  it('a stream of requests counts once, and a denied one is answered', async () => {
    const { collect } = await start();
    expect(await collect({ numbers: [1, 2] }, { numbers: [3] })).toEqual({ total: 3 });
    expectDenied(await collect({ numbers: [1] }), 'collect');
  });

  it('a permit is held until the handler has ended, although the client has cancelled the call', async () => {
    const { fill } = await start();
    const first = fill(() => undefined);
    await until(() => gate.inside === 1, 'the first call');
    first.cancel();
    for (let nth = 0; nth < 3; nth++) {
      const answer = new Promise((resolve) => fill(resolve).end());
      expectDenied(await answer, 'fill');
    }
    gate.open();
    await until(async () => {
      let error: unknown;
      fill((found) => (error = found)).end();
      await until(() => gate.inside === 1 || !!error, 'the next call');
      return gate.inside === 1;
    }, 'the permit');
    expect(gate.most).toBe(1);
  });

  it('limits that could not be checked end a call with UNAVAILABLE', async () => {
    const { call } = await start({ redis: 'redis://127.0.0.1:1', onStoreError: 'deny' });
    const UNAVAILABLE = 14;
    expect(await call('Sum')).toMatchObject({ code: UNAVAILABLE });
    expect(await call('Free')).toEqual({ total: 7 });
  });

  it('a rule by IP stops the application, since a call has no client address that is known', async () => {
    await expect(start({ overrides: { sum: { by: 'ip' } } })).rejects.toThrow(
      'rule "sum" of Depot.sum.by: got "ip"',
    );
  });
});
