import type { ExecutionContext } from '@nestjs/common';
import type { HttpRequest } from '../../http/subject.js';

/** One request and, where there is one, the response that can carry headers. */
export interface Exchange {
  readonly request: HttpRequest;
  readonly response?: unknown;
}

/** Stands for the request of a transport whose calls have no client address, such as a message queue. */
export const WITHOUT_CLIENT: HttpRequest = Object.freeze({});

/** The request and response behind a context, whatever brought it: HTTP, GraphQL, WebSocket or RPC. */
export function exchangeOf(context: ExecutionContext): Exchange {
  switch (context.getType<string>()) {
    case 'http':
      return { request: context.getArgByIndex<HttpRequest>(0), response: context.getArgByIndex<unknown>(1) };
    case 'graphql':
      return graphqlExchange(context.getArgByIndex<GraphqlContext | undefined>(2));
    case 'ws':
      return { request: socketRequest(context.switchToWs().getClient<SocketClient>()) };
    default:
      return { request: WITHOUT_CLIENT };
  }
}

/** The context of Apollo or Mercurius. In a subscription by `graphql-ws`, the request stands in `extra`. */
interface GraphqlContext {
  req?: HttpRequest & { extra?: { request?: HttpRequest } };
  request?: HttpRequest;
  res?: unknown;
  reply?: { request?: HttpRequest };
}

function graphqlExchange(graphql: GraphqlContext = {}): Exchange {
  const request = graphql.req?.extra?.request ?? graphql.req ?? graphql.request ?? graphql.reply?.request;
  return { request: request ?? {}, response: graphql.res ?? graphql.reply };
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
