import {
  type ExecutionContext,
  Catch,
  type ArgumentsHost,
  type ExceptionFilter,
  type Type,
} from '@nestjs/common';
import type { Exchange } from '../nest/request/exchange.js';
import { graphqlExchange } from './graphql.js';
import type { Handshakes } from './handshakes.js';
import { isEventHandler, RpcExchange, rpcReply, CallExchange } from './calls.js';
import { wsExchange, denySocket } from './ws.js';
import type { Observable } from 'rxjs';
import { DenialException } from '../nest/rate-limit.exception.js';
import type { Denial } from '../nest/request/responder.js';
import { enhancersOf, FILTERS } from '../nest/handler-interceptor.js';

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
      denySocket(exception, host);
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
@Catch(DenialException)
class HandlerFilter implements ExceptionFilter {
  readonly catch = answerDenial;
}

const HANDLER_FILTER = new HandlerFilter();

/**
 * Adds the filter to a class or handler, after the filters of the application, before Nest reads which it has. Nest calls
 * filters of a handler before those of its class, so a handler also gets those of its class.
 */
export function addFilter(target: object, type: object): void {
  const present = enhancersOf(target, FILTERS);
  if (present.includes(HANDLER_FILTER)) return;
  const ofClass = target === type ? [] : enhancersOf(type, FILTERS);
  Reflect.defineMetadata(FILTERS, [HANDLER_FILTER, ...ofClass, ...present], target);
}

/** Returns the address of a handler outside HTTP, as the id of its route. */
export function addressOf(kind: string, type: Type, handler: object, method: string): string {
  if (kind === 'gateway') return `${gatewayAddress(type)} ${textOf(Reflect.getMetadata('message', handler))}`;
  if (kind === 'connection') return `connect ${gatewayAddress(type)}`;
  return kind === 'pattern' ? patternAddress(handler) : graphqlAddress(type, handler, method);
}

/** Returns the address of a GraphQL handler, such as `Query.me`, or `User.posts` for a field. */
function graphqlAddress(type: Type, handler: object, method: string): string {
  const parent = (Reflect.getMetadata('graphql:resolver_type', handler) ??
    Reflect.getMetadata('graphql:resolver_type', type)) as string | undefined;
  const name = Reflect.getMetadata('graphql:resolver_name', handler) as string | undefined;
  return [...(parent === undefined ? [] : [parent]), name ?? method].join('.');
}

/** Returns the address of a gateway: port, path and namespace, such as `ws /chat`. */
function gatewayAddress(type: Type): string {
  const port = Reflect.getMetadata('port', type) as number | undefined;
  const { namespace = '', path } = (Reflect.getMetadata('websockets:gateway_options', type) ?? {}) as {
    readonly namespace?: string | RegExp;
    readonly path?: string;
  };
  const parts = [
    port ? `ws:${port}` : 'ws',
    ...(path === undefined ? [] : [`path=${path}`]),
    `/${String(namespace).replace(/^\//, '')}`,
  ];
  return parts.join(' ');
}

/** Returns the address of a microservice's handler: its kind, its transport and its first pattern, such as `message sum`. */
function patternAddress(handler: object): string {
  const transport = Reflect.getMetadata('microservices:transport', handler) as number | symbol | undefined;
  const patterns = Reflect.getMetadata('microservices:pattern', handler) as readonly unknown[];
  const kind = isEventHandler(handler) ? 'event' : 'message';
  const via = transport === undefined ? '' : `:${transport.toString()}`;
  return `${kind}${via} ${textOf(patterns[0])}`;
}

/** The keys of objects are sorted, as Nest compares patterns. */
function textOf(pattern: unknown): string {
  if (typeof pattern !== 'object' || pattern === null) return String(pattern);
  return JSON.stringify(pattern, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
