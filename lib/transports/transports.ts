import { type ExecutionContext, Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Exchange } from '../nest/request/exchange.js';
import { graphqlExchange } from './graphql.js';
import type { Handshakes } from './handshakes.js';
import { RpcExchange, rpcReply, CallExchange } from './calls.js';
import { wsExchange, refuseSocket } from './ws.js';
import type { Observable } from 'rxjs';
import { RateLimitUnavailableException, RateLimitExceededException } from '../nest/rate-limit.exception.js';
import type { Denial } from '../nest/request/responder.js';

/** Returns a request outside HTTP, in the transport that the type of Nest's context names. */
export function exchangeOf(context: ExecutionContext, handshakes: Handshakes): Exchange {
  switch (context.getType<string>()) {
    case 'graphql':
      return graphqlExchange(context, handshakes);
    case 'ws':
      return wsExchange(context, handshakes);
    case 'rpc':
      return new RpcExchange(context);
    default:
      return new CallExchange(context);
  }
}

/** Reports a denial in the language of a transport other than HTTP. GraphQL reports the exception itself. */
export function answerDenial(exception: Denial, host: ArgumentsHost): Observable<never> | void {
  switch (host.getType<string>()) {
    case 'ws':
      refuseSocket(exception, host);
      return;
    case 'rpc':
      return rpcReply(exception, host);
    default:
      throw exception;
  }
}

/**
 * The filter of gateways and microservices, where Nest runs no global filter. It has no state of an application, so that
 * a class can be part of several.
 */
@Catch(RateLimitExceededException, RateLimitUnavailableException)
class HandlerFilter implements ExceptionFilter {
  readonly catch = answerDenial;
}

const HANDLER_FILTER = new HandlerFilter();

const FILTERS = '__exceptionFilters__';

/**
 * Adds the filter to a class or handler, after the filters of the application, before Nest reads which it has. Nest calls
 * filters of a handler before those of its class, so a handler also gets those of its class.
 */
export function addFilter(target: object, type: object): void {
  const present = filtersOf(target);
  if (present.includes(HANDLER_FILTER)) return;
  const ofClass = target === type ? [] : filtersOf(type);
  Reflect.defineMetadata(FILTERS, [HANDLER_FILTER, ...ofClass, ...present], target);
}

function filtersOf(target: object): readonly unknown[] {
  return (Reflect.getMetadata(FILTERS, target) as unknown[] | undefined) ?? [];
}
