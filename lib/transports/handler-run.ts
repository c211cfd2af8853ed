import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallHandler, Type } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { promised } from '../contracts/thenable.js';
import { hungUp } from '../nest/request/exchange.js';
import { answerableError } from './grpc-stream-call.js';
import { describeAs, ownerOf, type Method } from '../nest/limited-method.js';

/** One run of a handler. It continues after its client has disconnected, because a promise cannot be stopped. */
export interface HandlerRun {
  isCalled?: boolean;
  hasEnded?: boolean;
  /** What it has returned, if its method notes it. */
  result?: unknown;
}

const current = new AsyncLocalStorage<HandlerRun>();

const noting = new WeakSet();

/** Runs a handler, so that its method notes what it returns. */
export function runHandler(next: CallHandler, run: HandlerRun): Observable<unknown> {
  return current.run(run, () => next.handle());
}

/** Calls back when a run has ended whose values have ended, or are not read any more. */
export function afterRun(run: HandlerRun, ended: () => void): void {
  run.hasEnded = true;
  if (run.result instanceof Promise) run.result.then(ended, ended);
  else ended();
}

/** Metadata of handlers from which Nest unsubscribes when their clients have left, while they work on. */
const STOPPED = ['__sse__', 'websockets:message_mapping', 'microservices:pattern'];

/**
 * Replaces the method of a handler by one that notes what it returns, before Nest reads it, if the handler works on when its
 * client has left. Returns the method.
 */
export function noteResults({ prototype }: Type, name: string): Method {
  const owner = ownerOf(prototype as object, name) as Record<string, Method>;
  const method = owner[name]!;
  if (noting.has(method) || !STOPPED.some((key) => Reflect.hasMetadata(key, method))) return method;
  const noted: Method = function (...args) {
    const run = current.getStore();
    if (!run || run.isCalled) return method.apply(this, args);
    if (run.hasEnded) throw answerableError(method, hungUp()); // Its client has left while pipes ran, and its permit was released.
    run.isCalled = true;
    return (run.result = promised(method.apply(this, args))); // A query that is awaited twice runs twice.
  };
  describeAs(noted, method);
  noting.add(noted);
  Object.defineProperty(owner, name, { value: noted, configurable: true, writable: true });
  return noted;
}
