import type { ExecutionContext } from '@nestjs/common';
import { promised } from '../../contracts/thenable.js';
import type { HttpRequest } from '../../http/subject.js';
import type { SubjectResolver } from '../rules/route-rule.js';
import { UserReads } from './user-reads.js';

/** The request of a transport without client addresses, such as a message queue. */
export const WITHOUT_CLIENT: HttpRequest = Object.freeze({});

/** Returns the subject of a request for the rule with a name; `undefined` for the subject of the rule's `by`. */
export type SubjectHook = (context: ExecutionContext, rule: string) => ReturnType<SubjectResolver>;

/** A request, its response if the transport has one, and the values that functions in rules return for the request. */
export class Exchange {
  /** The `subjectOf` of a guard that overrides it. */
  subjectOf: SubjectHook | undefined;
  private values: Map<unknown, unknown> | undefined;
  private userReads: UserReads | undefined;

  constructor(
    readonly context: ExecutionContext,
    readonly request: HttpRequest,
    readonly response?: unknown,
  ) {}

  /**
   * Returns the value of a rule's field for this request. A function is called once per request; a result that can be
   * awaited is converted to a native promise.
   */
  valueOf<Value>(
    field: Value | ((context: ExecutionContext) => Value | Promise<Value>),
  ): Value | Promise<Value> {
    if (typeof field !== 'function') return field;
    this.values ??= new Map();
    if (!this.values.has(field)) {
      const call = (): unknown => promised((field as (context: ExecutionContext) => unknown)(this.context));
      this.values.set(field, this.userReads ? this.userReads.during(field, call) : call());
    }
    return this.values.get(field) as Value | Promise<Value>;
  }

  /** Starts to record which functions read the user of the request before it has one. */
  watchUser(): UserReads {
    return (this.userReads ??= new UserReads(this.request));
  }
}

/** Returns the request and response of a context of any transport: HTTP, GraphQL, WebSocket or RPC. */
export function exchangeOf(context: ExecutionContext): Exchange {
  switch (context.getType<string>()) {
    case 'http':
      return new Exchange(context, context.getArgByIndex<HttpRequest>(0), context.getArgByIndex<unknown>(1));
    case 'graphql':
      return graphqlExchange(context, context.getArgByIndex<GraphqlContext | undefined>(2));
    case 'ws':
      return new Exchange(context, socketRequest(context.switchToWs().getClient<SocketClient>()));
    default:
      return new Exchange(context, WITHOUT_CLIENT);
  }
}

/** The context of Apollo or Mercurius. In a subscription of `graphql-ws`, `extra` contains the request. */
interface GraphqlContext {
  req?: HttpRequest & { extra?: { request?: HttpRequest } };
  request?: HttpRequest;
  res?: unknown;
  reply?: { request?: HttpRequest };
}

function graphqlExchange(context: ExecutionContext, graphql: GraphqlContext = {}): Exchange {
  const request = graphql.req?.extra?.request ?? graphql.req ?? graphql.request ?? graphql.reply?.request;
  return new Exchange(context, request ?? {}, graphql.res ?? graphql.reply);
}

/** A socket of Socket.IO or `ws`. */
interface SocketClient {
  handshake?: { address?: string; headers?: HttpRequest['headers'] };
  conn?: { remoteAddress?: string };
  _socket?: { remoteAddress?: string };
  user?: unknown;
  data?: { user?: unknown };
}

/** Returns the handshake as a request. Its `ip` is set only if the application has replaced the peer's address. */
function socketRequest(client: SocketClient): HttpRequest {
  const address = client.handshake?.address ?? client._socket?.remoteAddress;
  const peer = client.conn?.remoteAddress ?? address;
  return {
    ...(address !== peer && { ip: address }),
    ...(peer !== undefined && { socket: { remoteAddress: peer } }),
    headers: client.handshake?.headers ?? {},
    user: client.user ?? client.data?.user,
  };
}
