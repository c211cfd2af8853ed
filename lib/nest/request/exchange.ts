import type { ExecutionContext } from '@nestjs/common';
import { promised } from '../../contracts/thenable.js';
import type { HttpRequest } from '../../http/subject.js';
import { UserReads } from './user-reads.js';

/** Stands for the request of a transport whose calls have no client address, such as a message queue. */
export const WITHOUT_CLIENT: HttpRequest = Object.freeze({});

/** One request: the response that can carry headers, where there is one, and what functions in rules return for it. */
export class Exchange {
  private values: Map<unknown, unknown> | undefined;
  private userReads: UserReads | undefined;

  constructor(
    readonly context: ExecutionContext,
    readonly request: HttpRequest,
    readonly response?: unknown,
  ) {}

  /**
   * The value of a rule's field for this request. A function is called once; a result that can be awaited comes as a
   * promise of this realm.
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

  /** Records from now on which functions read the user of the request, which has none yet. */
  watchUser(): UserReads {
    return (this.userReads ??= new UserReads(this.request));
  }
}

/** The request and response behind a context of any transport: HTTP, GraphQL, WebSocket or RPC. */
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

/** The context of Apollo or Mercurius. In a subscription by `graphql-ws`, the request stands in `extra`. */
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

/** A Socket.IO socket, or a `ws` one. */
interface SocketClient {
  handshake?: { address?: string; headers?: HttpRequest['headers'] };
  conn?: { remoteAddress?: string };
  _socket?: { remoteAddress?: string };
  user?: unknown;
  data?: { user?: unknown };
}

/** Its address is that of the peer, unless the application has put another one into the handshake. */
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
