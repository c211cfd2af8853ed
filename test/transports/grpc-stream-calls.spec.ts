import { setTimeout as sleep } from 'node:timers/promises';
import {
  status,
  type ClientDuplexStream,
  type ClientWritableStream,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerReadableStream,
} from '@grpc/grpc-js';
import { Catch, Controller, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from '@jest/globals';
import { throwError } from 'rxjs';
import { RateLimit, type RateLimitModuleOptions } from '../../lib/index.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeGrpc, expectDenied, startGrpc } from './grpc-app.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window', by: 'everyone' } as const;
const ONE_AT_A_TIME = { algorithm: 'concurrency', limit: 1, by: 'everyone' } as const;

interface Numbers {
  readonly numbers?: readonly number[];
}

/** A filter of an application that catches everything. */
@Catch()
class EveryError implements ExceptionFilter {
  catch(error: unknown) {
    return throwError(() => error);
  }
}

@UseFilters(EveryError)
@Controller()
class Depot {
  @RateLimit({ ...MINUTE, name: 'pour', limit: 1 })
  @GrpcStreamCall('Depot', 'Pour')
  pour(call: ServerReadableStream<Numbers, object>, callback: sendUnaryData<object>) {
    let total = 0;
    call.on('data', ({ numbers = [] }: Numbers) => (total += numbers.length));
    call.on('end', () => callback(null, { total }));
  }

  @RateLimit({ ...ONE_AT_A_TIME, name: 'fill' })
  @GrpcStreamCall('Depot', 'Fill')
  fill(call: ServerReadableStream<Numbers, object>, callback: sendUnaryData<object>) {
    call.on('data', () => undefined);
    call.on('end', () => callback(null, { total: 1 }));
  }

  @RateLimit({ ...ONE_AT_A_TIME, name: 'chat' })
  @GrpcStreamCall('Depot', 'Chat')
  chat(call: ServerDuplexStream<Numbers, object>) {
    call.on('data', ({ numbers = [] }: Numbers) => call.write({ total: numbers.length }));
    call.on('end', () => call.end());
  }

  @RateLimit({ ...MINUTE, name: 'failures', limit: 1, count: 'failures' })
  @GrpcStreamCall('Depot', 'Guess')
  guess(call: ServerDuplexStream<Numbers, object>) {
    call.on('data', ({ numbers = [] }: Numbers) => {
      if (numbers[0] === 13) call.emit('error', { code: status.OUT_OF_RANGE, details: 'unlucky' });
      else call.write({ total: numbers.length });
    });
    call.on('end', () => call.end());
  }

  @RateLimit({
    ...MINUTE,
    name: 'wrong',
    limit: 1,
    by: () => {
      throw new Error('no tenant');
    },
  })
  @GrpcStreamCall('Depot', 'Wrong')
  wrong(call: ServerDuplexStream<Numbers, object>) {
    call.end();
  }

  @GrpcMethod('Depot', 'Free')
  free() {
    return { total: 7 };
  }
}

afterEach(closeGrpc);

/** What a client has received: values, then `true` or an error. */
interface Received {
  readonly values: unknown[];
  ended?: unknown;
}

async function start(limits: RateLimitModuleOptions = {}) {
  const client = await startGrpc(Depot, limits);
  type Done = (error: unknown, value: unknown) => void;
  const { Pour, Fill, Chat, Guess, Wrong } = client as never as Record<
    'Pour' | 'Fill',
    (done: Done) => ClientWritableStream<Numbers>
  > &
    Record<'Chat' | 'Guess' | 'Wrong', () => ClientDuplexStream<Numbers, object>>;
  const writing = (method: typeof Pour) => {
    const received: Received = { values: [] };
    const call = method.call(client, (error, value) => (received.ended = error ?? value));
    return { call, received };
  };
  const talking = (method: typeof Chat) => {
    const received: Received = { values: [] };
    const call = method.call(client);
    call.on('data', (value) => received.values.push(value));
    call.on('error', (error) => (received.ended = error));
    call.on('end', () => (received.ended ??= true));
    return { call, received };
  };
  const free = () => new Promise((resolve) => client['Free']!({}, (error, value) => resolve(error ?? value)));
  return {
    pour: () => writing(Pour),
    fill: () => writing(Fill),
    chat: () => talking(Chat),
    guess: () => talking(Guess),
    wrong: () => talking(Wrong),
    free,
  };
}

const ended = ({ received }: { readonly received: Received }) =>
  until(() => received.ended !== undefined, 'the end of the call');

describe('limits of @GrpcStreamCall', () => {
  it('calls that clients cancel while Redis decides end nothing but themselves', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown) => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      const { chat, free } = await start({ redis: redisUrl(), prefix: uniquePrefix() });
      for (let nth = 0; nth < 100; nth += 1) {
        const { call, received } = chat();
        call.write({ numbers: [1] });
        await sleep((nth % 10) / 2);
        call.cancel();
        await ended({ received });
      }
      expect(await free()).toEqual({ total: 7 });
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('a stream that is denied gets its status, and the process serves the next call', async () => {
    const { pour, chat, free } = await start();
    const first = pour();
    first.call.end({ numbers: [1, 2] });
    await ended(first);
    expect(first.received.ended).toEqual({ total: 2 });
    const denied = pour();
    denied.call.end({ numbers: [1] });
    await ended(denied);
    expectDenied(denied.received.ended, 'pour');
    const [open, refused] = [chat(), chat()];
    await ended(refused);
    expectDenied(refused.received.ended, 'chat');
    open.call.end();
    await ended(open);
    expect(await free()).toEqual({ total: 7 });
  });

  it('a stream whose limits cannot be checked ends with UNAVAILABLE', async () => {
    const { chat, free } = await start({ redis: 'redis://127.0.0.1:1', onStoreError: 'deny' });
    const refused = chat();
    await ended(refused);
    expect(refused.received.ended).toMatchObject({ code: status.UNAVAILABLE });
    expect(await free()).toEqual({ total: 7 });
  });

  it('a stream for which a function of a rule throws ends with an error, and the process goes on', async () => {
    const { wrong, free } = await start();
    const failed = wrong();
    await ended(failed);
    expect(failed.received.ended).toMatchObject({ code: status.UNKNOWN, details: 'Internal server error' });
    expect(await free()).toEqual({ total: 7 });
  });

  it('a permit is held until the stream ends, the client cancels, or the handler responds', async () => {
    const { chat, fill } = await start();
    const denied = async (open: typeof chat | typeof fill, rule: string) => {
      const next = open();
      await ended(next);
      expectDenied(next.received.ended, rule);
    };
    for (const end of ['cancel', 'end'] as const) {
      const first = chat();
      first.call.write({ numbers: [1] });
      await until(() => first.received.values.length > 0, 'the first value');
      await denied(chat, 'chat');
      first.call[end]();
      await ended(first);
    }
    for (const end of ['cancel', 'end'] as const) {
      const first = fill();
      first.call.write({ numbers: [1] });
      await until(async () => {
        const next = fill();
        next.call.end();
        await ended(next);
        return (next.received.ended as { code?: number }).code === status.RESOURCE_EXHAUSTED;
      }, 'the first call to hold the permit');
      first.call[end]();
      await ended(first);
    }
  });

  it('a stream counts as a failure if its handler ends it with an error', async () => {
    const { guess } = await start();
    const outcomes = [];
    for (const number of [1, 2, 13, 3]) {
      const each = guess();
      each.call.end({ numbers: [number] });
      await ended(each);
      outcomes.push((each.received.ended as { code?: number }).code);
    }
    expect(outcomes).toEqual([undefined, undefined, status.OUT_OF_RANGE, status.RESOURCE_EXHAUSTED]);
  });
});
