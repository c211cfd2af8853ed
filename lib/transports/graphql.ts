import { onAbort } from '../contracts/timer.js';
import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { entryOf } from '../contracts/entry-of.js';
import type { Header } from '../http/headers.js';
import { connectionSignal, isResponse, responseSignal, type Connection } from '../http/response-end.js';
import type { HttpRequest } from '../http/subject.js';
import { Exchange, hungUp } from '../nest/request/exchange.js';
import { operationOf, type Operation } from './graphql-operation.js';
import type { Handshakes } from './handshakes.js';

/** A connection of `graphql-ws`. */
interface GraphqlConnection {
  /** By the id of each operation that has not ended: its iterator, or `null` until it has one. */
  readonly subscriptions?: Readonly<Record<string, unknown>>;
  /** Its socket, and the request that has opened it. */
  readonly extra?: { readonly socket?: Socket; readonly request?: HttpRequest };
}

/** The subscription of Mercurius in a context: it calls the functions in `queue.close` when the client leaves. */
interface MercuriusSubscription {
  readonly queue?: { close?: unknown };
  readonly closed?: unknown;
}

interface Socket {
  on?(event: 'message', listener: () => void): unknown;
  prependListener?(event: 'message', listener: () => void): unknown;
}

/** The functions to call around each message of a socket: few listeners for all, since Node.js warns of the eleventh. */
const followers = new WeakMap<Socket, Set<() => void>>();

/** The ids that are known to belong to an operation, by connection. */
const assigned = new WeakMap<object, Set<string>>();

/** Whether `pubsub` in a context is that of a subscription of Mercurius, and not one of the application. */
function isOfMercurius(pubsub: MercuriusSubscription | undefined): pubsub is Required<MercuriusSubscription> {
  return typeof pubsub?.queue === 'object' && typeof pubsub.closed === 'boolean';
}

function followMercurius(subscription: MercuriusSubscription | undefined, abort: () => void): boolean {
  if (!isOfMercurius(subscription)) return false;
  const { queue, closed } = subscription;
  if (closed === true) {
    abort();
    return true;
  }
  queue.close ??= [];
  if (!Array.isArray(queue.close)) return false;
  queue.close.push(abort);
  return true;
}

/** Operations of a connection that are followed, since each message is compared with all: the rest waits until it closes. */
const MOST_FOLLOWED = 100;

/**
 * Follows an operation of `graphql-ws`, which removes its id from the connection when a message ends it. The library states
 * the id to no resolver: it is one of those without an iterator. While several operations have begun at the same time, the
 * signal aborts when all of them have ended, so that no client loses an operation that it has not ended.
 */
function followConnection(connection: GraphqlConnection | undefined, abort: () => void): boolean {
  const { subscriptions, extra: { socket } = {} } = connection ?? {};
  if (!subscriptions || !socket?.on || !socket.prependListener) return false;
  if (followersOf(socket).size >= MOST_FOLLOWED) return false;
  const others = entryOf(assigned, subscriptions, () => new Set<string>());
  const ids = Object.keys(subscriptions).filter((id) => subscriptions[id] === null && !others.has(id));
  if (ids.length === 0) return false;
  if (ids.length === 1) others.add(ids[0]!);
  const follower = (): void => {
    if (ids.some((id) => id in subscriptions)) return;
    followersOf(socket).delete(follower);
    for (const id of ids) others.delete(id);
    abort();
  };
  followersOf(socket).add(follower);
  return true;
}

function followersOf(socket: Socket): Set<() => void> {
  return entryOf(followers, socket, () => {
    const all = new Set<() => void>();
    const follow = (): void => all.forEach((follower) => follower());
    socket.prependListener!('message', follow); // A message may begin another operation with an id that has ended.
    socket.on!('message', follow);
    return all;
  });
}

/** The context of Apollo or Mercurius: in a subscription of `graphql-ws`, or its `req`, that of the connection. */
interface GraphqlContext extends GraphqlConnection {
  readonly req?: HttpRequest & GraphqlConnection & { readonly res?: HeaderTarget };
  readonly request?: HttpRequest;
  readonly res?: HeaderTarget;
  readonly reply?: HeaderTarget & { readonly request?: HttpRequest };
  readonly pubsub?: MercuriusSubscription;
}

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

  /**
   * Mercurius does not return an iterator that its resolver returns only after the client has ended the subscription, and
   * `graphql-ws` none of an operation whose id the client has used again.
   */
  override closed(): AbortSignal | undefined {
    return isOfMercurius(this.graphql.pubsub) ? this.gone() : this.disconnected();
  }

  /** Aborts when the client has ended the operation without disconnecting, or has disconnected. */
  private subscriptionSignal(): AbortSignal | undefined {
    const { req, pubsub } = this.graphql;
    const connection = req?.subscriptions ? req : this.graphql;
    const disconnected = this.disconnected();
    const controller = new AbortController();
    let unheard: (() => void) | undefined;
    const abort = (): void => {
      unheard?.();
      controller.abort(hungUp());
    };
    const isOfPubsub = followMercurius(pubsub, abort);
    if (!isOfPubsub && !followConnection(connection, abort)) return disconnected;
    if (disconnected?.aborted) abort();
    else unheard = disconnected && onAbort(disconnected, abort);
    if (isOfPubsub) this.onEnd(() => unheard?.()); // A client may use its id again: Mercurius closes only the last one then.
    return controller.signal;
  }

  private disconnected(): AbortSignal | undefined {
    const { socket } = this.request;
    if (!socket || !('once' in socket)) return undefined;
    return connectionSignal(socket as Connection, 'close', socket.destroyed === true, hungUp);
  }
}

export function graphqlExchange(context: ExecutionContext, handshakes: Handshakes): Exchange {
  const args = context.getArgs<(GraphqlContext | undefined)[]>();
  const graphql = args[args.length === 3 ? 1 : 2] ?? {}; // The resolver of a reference has no arguments before it.
  const request = requestOf(graphql) ?? {};
  const target = graphql.res ?? graphql.req?.res ?? graphql.reply;
  const from = withAddress(request, handshakes);
  return new GraphqlExchange(context, from, operationOf(graphql), target, graphql);
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
