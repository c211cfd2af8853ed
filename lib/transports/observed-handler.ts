import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { defer, finalize, map, mergeMap, tap, type Observable } from 'rxjs';
import type { ResponseEnd } from '../http/response-end.js';
import type { Exchange } from '../nest/request/exchange.js';
import { followStreamCall } from './grpc-stream-call.js';
import type { HandlerStage } from './handler-interceptor.js';
import { failure, isIterable, observed, SUCCESS } from './observed-iterable.js';

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
