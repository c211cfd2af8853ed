import type { ArgumentsHost, ExecutionContext, Type } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Denial, Deny } from '../nest/request/responder.js';
import { of, throwError, type Observable } from 'rxjs';
import { connectionSignal, type Connection } from '../http/response-end.js';
import type { Warnings } from '../nest/warnings.js';
import { Exchange, hungUp, WITHOUT_CLIENT } from '../nest/request/exchange.js';

/** What a call does not have, as any type. */
const none = () => undefined as never;

/** The context of a call that Nest creates none for, as functions in rules and guards get it. */
export class CallContext extends ExecutionContextHost {
  /** @param kind `'ws'` for a connection to a gateway, whose first argument is the client */
  constructor(kind: 'provider' | 'ws', type: Type, method: unknown, args: unknown[]) {
    super(args, type, method as () => unknown);
    this.setType<string>(kind);
  }

  override switchToHttp = () => ({ getRequest: none, getResponse: none, getNext: none });
  override switchToRpc = () => ({ getData: this.first, getContext: none });
  override switchToWs = () =>
    this.getType<string>() === 'ws'
      ? { getClient: this.first, getData: none, getPattern: none }
      : { getClient: none, getData: this.first, getPattern: none };
  private readonly first = () => this.getArgByIndex<never>(0);
}

/** A call without a client address: a message, an event, or a call of a library, such as a queue consumer or a bot. */
export class CallExchange extends Exchange {
  readonly transport: Exchange['transport'] = 'other';
  readonly request = WITHOUT_CLIENT;

  constructor(readonly context: ExecutionContext) {
    super();
  }
}

/** The codes of gRPC for a status of HTTP. */
const CODES: Readonly<Record<number, number>> = { 429: 8, 503: 14 };

const UNKNOWN = 2;

/** The metadata of gRPC: of a request, or the trailers of a response. */
interface Metadata {
  getMap(): unknown;
  set(name: string, value: string | Buffer): void;
}

/**
 * Returns the error of a denied call of gRPC: the status RESOURCE_EXHAUSTED, or UNAVAILABLE if the limits could not be
 * checked, with `retry-after` (seconds) and `problem-details-bin` (JSON) in its metadata. `undefined` for other transports.
 */
export function grpcError(exception: Denial, host: ArgumentsHost) {
  const request = metadataOf(host);
  if (!request) return undefined;
  const metadata = new (request.constructor as new () => Metadata)();
  const { retryAfterMs } = exception.decision;
  if (retryAfterMs !== null) metadata.set('retry-after', String(Math.ceil(retryAfterMs / 1000)));
  metadata.set('problem-details-bin', Buffer.from(JSON.stringify(exception.getResponse())));
  return { code: CODES[exception.getStatus()] ?? UNKNOWN, details: exception.message, metadata };
}

/** A handler gets the metadata of a call as its second argument; one that is passed the call finds it there. */
function metadataOf(host: ArgumentsHost): Metadata | undefined {
  const [call, metadata] = host.getArgs<unknown[]>();
  return [metadata, (call as { metadata?: unknown } | undefined)?.metadata].find(isMetadata);
}

/** Whether an argument of a handler is a call of gRPC. */
function isCall(value: unknown): value is Connection & { readonly cancelled: boolean } {
  const { once, cancelled } = (value ?? {}) as { readonly once?: unknown; readonly cancelled?: unknown };
  return typeof once === 'function' && typeof cancelled === 'boolean';
}

function isMetadata(value: unknown): value is Metadata {
  const { getMap, set } = (value ?? {}) as Partial<Metadata>;
  return typeof getMap === 'function' && typeof set === 'function';
}

/** In the metadata of a handler by @EventPattern, as `PatternHandler` of @nestjs/microservices has it. */
const EVENT = 2;

/** Whether a handler is one by @EventPattern, whose senders expect no reply. */
export function isEventHandler(handler: object): boolean {
  return Reflect.getMetadata('microservices:handler_type', handler) === EVENT;
}

/** On an exception: the sender waits for no reply, and the event is dropped. */
const DROPPED = Symbol.for('nestjs-redis-rate-limit:dropped');

/** A message or an event of a microservice: no client address, no response. */
export class RpcExchange extends CallExchange {
  override readonly transport = 'rpc';

  /** Aborts when the client of gRPC has cancelled the call. */
  override gone(): AbortSignal | undefined {
    const call = this.context.getArgs<unknown[]>().find(isCall);
    return call && connectionSignal(call, 'cancelled', call.cancelled, hungUp);
  }
}

/**
 * Returns the reply to a denied message: an error with the details. A dropped event has no reply, but a value: an
 * Observable without one is an error for Kafka, which would deliver the event again, and ends its other handlers.
 */
export function rpcReply(exception: Denial, host: ArgumentsHost): Observable<never> {
  if (DROPPED in exception) return of(undefined) as Observable<never>;
  return throwError(() => grpcError(exception, host) ?? exception.getResponse());
}

/** Returns how an event of a microservice is denied, whose sender waits for no reply: it is dropped, or thrown. */
export function denyEvent(deny: Deny, isDropped: boolean, warnings: Warnings): Deny {
  return async (context, decision, detail) => {
    const handler = `${context.getClass().name}.${context.getHandler().name}`;
    const outcome = isDropped ? 'dropped' : "an error for its transport (`onDeniedEvent: 'throw'`)";
    warnings.warn(
      'RL_EVENT_DENIED',
      `Rule "${decision.rule}" denied an event for ${handler}, and it was ${outcome}. Later ones are not logged: ` +
        "events.on('decision', listener, { only: 'denied' }) gets each.",
      handler,
    );
    try {
      return await deny(context, decision, detail);
    } catch (error) {
      throw isDropped && error instanceof Error ? Object.assign(error, { [DROPPED]: true }) : error;
    }
  };
}
