import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { Header } from '../http/headers.js';
import { connectionSignal, isResponse, responseSignal, type Connection } from '../http/response-end.js';
import type { HttpRequest } from '../http/subject.js';
import { Exchange, hungUp } from '../nest/request/exchange.js';
import {
  isOfMercurius,
  operationSignal,
  type GraphqlConnection,
  type MercuriusSubscription,
} from './graphql-end.js';
import { operationOf, type Operation } from './graphql-operation.js';
import type { Handshakes } from './handshakes.js';

/** The context of Apollo or Mercurius. In a subscription of `graphql-ws`, `extra` has the request. */
export interface GraphqlContext extends GraphqlConnection {
  readonly req?: GraphqlRequest;
  readonly request?: HttpRequest;
  readonly res?: HeaderTarget;
  readonly reply?: HeaderTarget & { readonly request?: HttpRequest };
  readonly pubsub?: MercuriusSubscription;
  readonly extra?: GraphqlConnection['extra'] & { readonly request?: HttpRequest };
}

type GraphqlRequest = HttpRequest &
  GraphqlConnection & {
    readonly res?: HeaderTarget;
    readonly extra?: { readonly request?: HttpRequest };
  };

/** A response: Fastify's reply has `header`, a response of Node.js has `setHeader`. */
interface HeaderTarget {
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  header?(name: string, value: string): unknown;
  setHeader?(name: string, value: string): unknown;
}

/** A field of a GraphQL operation. The rules of all its fields are reported together. */
class GraphqlExchange extends Exchange {
  readonly transport = 'graphql';
  readonly response = undefined;

  constructor(
    readonly context: ExecutionContext,
    readonly request: HttpRequest,
    private readonly operation: Operation,
    private readonly target: HeaderTarget | undefined,
    private readonly graphql: GraphqlContext,
  ) {
    super();
  }

  override sendHeaders(decision: Decision, format: (decision: Decision) => readonly Header[]): void {
    const headers = this.operation.add(decision, format);
    const { target } = this;
    if (!target || target.headersSent === true || target.sent === true) return;
    for (const [name, value] of headers) {
      if (target.setHeader) target.setHeader(name, value);
      else target.header?.(name, value);
    }
  }

  /**
   * The end of the response; of a subscription, when the client ends it; where the context has neither, the end of the
   * connection.
   */
  override gone(): AbortSignal | undefined {
    const { target } = this;
    if (target && isResponse(target)) return responseSignal(target, hungUp);
    return (this.operation.gone ??= this.subscriptionSignal());
  }

  /** Mercurius does not return an iterator that its resolver returns only after the client has ended the subscription. */
  override closed(): AbortSignal | undefined {
    return isOfMercurius(this.graphql.pubsub) ? this.gone() : undefined;
  }

  private subscriptionSignal(): AbortSignal | undefined {
    const { req, pubsub } = this.graphql;
    const connection = req?.subscriptions ? req : this.graphql;
    return operationSignal({ connection, subscription: pubsub, disconnected: this.disconnected() }, hungUp);
  }

  private disconnected(): AbortSignal | undefined {
    const { socket } = this.request;
    if (!socket || !('once' in socket)) return undefined;
    return connectionSignal(socket as Connection, 'close', socket.destroyed === true, hungUp);
  }
}

export function graphqlExchange(context: ExecutionContext, handshakes: Handshakes): Exchange {
  const graphql = contextOf(context.getArgs()) ?? {};
  const request = requestOf(graphql) ?? {};
  const target = graphql.res ?? graphql.req?.res ?? graphql.reply;
  const from = withAddress(request, handshakes);
  return new GraphqlExchange(context, from, operationOf(graphql), target, graphql);
}

/** Returns the context of an operation. The resolver of a reference has no arguments before it. */
function contextOf(args: readonly unknown[]): GraphqlContext | undefined {
  return args[args.length === 3 ? 1 : 2] as GraphqlContext | undefined;
}

function requestOf({ req, request, reply, extra }: GraphqlContext): HttpRequest | undefined {
  return req?.extra?.request ?? extra?.request ?? req ?? request ?? reply?.request;
}

/** The request of a subscription is one of Node.js, whose address no framework has determined. */
function withAddress(request: HttpRequest, handshakes: Handshakes): HttpRequest {
  if ('ip' in request || request.socket === undefined) return request;
  const { headers, socket } = request;
  return handshakes.request(request, { headers, socket, user: () => request.user });
}
