import { onAbort } from '../contracts/timer.js';
import { callSafely } from '../contracts/thenable.js';
import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { defer, finalize, map, mergeMap, tap, type Observable } from 'rxjs';
import type { ResponseEnd } from '../http/response-end.js';
import type { Exchange } from '../nest/request/exchange.js';
import { followStreamCall } from './grpc-stream-call.js';
import type { HandlerStage } from './handler-interceptor.js';

/**
 * Returns an iterator over the same values.
 *
 * @param ended called once when there are no more values, with the error if there is one
 * @param closed aborts when the client has ended the subscription, for a server that does not return the iterator then
 */
export function observed<Value>(
  values: AsyncIterable<Value>,
  ended: (error?: unknown) => void,
  closed?: AbortSignal,
): AsyncIterableIterator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  let isEnded = false;
  const end = (error?: unknown): void => {
    if (!isEnded) ended(error);
    isEnded = true;
    unheard?.();
  };
  const close = (): void => {
    end();
    callSafely(
      () => iterator.return?.(),
      undefined,
      () => undefined,
    ); // The client has left.
  };
  const unheard = closed && onAbort(closed, close);
  if (closed?.aborted) close();
  const follow = async (step: Promise<IteratorResult<Value>>): Promise<IteratorResult<Value>> => {
    try {
      const result = await step;
      if (result.done) end();
      return result;
    } catch (error) {
      end(error ?? new Error('the subscription failed'));
      throw error;
    }
  };
  return {
    next: () => follow(iterator.next()),
    // It ends at once: a generator that waits for its next value would return only after that.
    return: async (value) => {
      end();
      return (await iterator.return?.(value)) ?? { value: undefined as Value, done: true };
    },
    throw: async (error) => {
      end(error);
      if (iterator.throw) return iterator.throw(error);
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The end of a handler that has not failed, as that of a response. */
export const SUCCESS: ResponseEnd = { statusCode: 200 };

/** A handler that is observed until its Observable ends, and one of a subscription until its iterator ends. */
export class ObservedHandler implements HandlerStage {
  /** @param begin decides the rules of the second stage */
  constructor(
    private readonly exchange: Exchange,
    private readonly begin: () => Promise<void>,
  ) {}

  run(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    let end: ResponseEnd = 'cut-off';
    let isFollowed = false;
    const { exchange } = this;
    exchange.startHandler();
    const closed = isSubscription(context) ? exchange.closed() : undefined;
    return defer(this.begin).pipe(
      mergeMap(() => {
        isFollowed = followStreamCall(context, (ended) => exchange.end(ended));
        return next.handle();
      }),
      map((value: unknown) => {
        if (!isSubscription(context) || !isIterable(value)) return value;
        isFollowed = true;
        const ended = (error?: unknown): void => exchange.end(error === undefined ? SUCCESS : failure(error));
        return observed(value, ended, closed);
      }),
      tap({
        error: (error) => {
          end = failure(error);
          isFollowed = false;
        },
        complete: () => (end = SUCCESS),
      }),
      finalize(() => {
        if (!isFollowed) exchange.end(end);
      }),
    );
  }
}

/** Whether the handler is that of a GraphQL subscription. */
function isSubscription(context: ExecutionContext): boolean {
  if (context.getType<string>() !== 'graphql') return false;
  const info = context.getArgByIndex<{ readonly operation?: { readonly operation?: string } } | undefined>(3);
  return info?.operation?.operation === 'subscription';
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** An error as the status of a response: its own, or 500. */
export function failure(error: unknown): ResponseEnd {
  const { getStatus } = (error ?? {}) as { readonly getStatus?: unknown };
  const status: unknown = typeof getStatus === 'function' ? getStatus.call(error) : undefined;
  return { statusCode: typeof status === 'number' && status >= 400 ? status : 500 };
}
