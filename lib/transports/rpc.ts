import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import { EMPTY, throwError, type Observable } from 'rxjs';
import type { HttpRequest } from '../http/subject.js';
import { Exchange, WITHOUT_CLIENT } from '../nest/request/exchange.js';
import type { Denial } from '../nest/request/responder.js';
import { grpcError } from './grpc.js';

/** In the metadata of a handler by @EventPattern, as `PatternHandler` of @nestjs/microservices has it. */
const EVENT = 2;

/** On an exception: the sender waits for no reply, and the event is dropped. */
const DROPPED = Symbol.for('nestjs-redis-rate-limit:dropped');

/** A message or an event of a microservice: no client address, no response. */
export class RpcExchange extends Exchange {
  readonly transport = 'rpc';
  readonly request: HttpRequest = WITHOUT_CLIENT;
  readonly response = undefined;

  constructor(readonly context: ExecutionContext) {
    super();
  }

  /** Whether the sender expects no reply. */
  get isEvent(): boolean {
    return Reflect.getMetadata('microservices:handler_type', this.context.getHandler()) === EVENT;
  }
}

/** Marks the exception of a denied event, so that the event is dropped without an error. */
export function drop<Exception extends object>(exception: Exception): Exception {
  return Object.assign(exception, { [DROPPED]: true });
}

/** Returns the reply to a denied message: an error with the details. A dropped event has none. */
export function rpcReply(exception: Denial, host: ArgumentsHost): Observable<never> {
  if (DROPPED in exception) return EMPTY;
  return throwError(() => grpcError(exception, host) ?? exception.getResponse());
}
