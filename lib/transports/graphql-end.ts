import { onAbort } from '../contracts/abort.js';

/** A connection of `graphql-ws`. */
export interface GraphqlConnection {
  /** By the id of each operation that has not ended: its iterator, or `null` until it has one. */
  readonly subscriptions?: Readonly<Record<string, unknown>>;
  readonly extra?: { readonly socket?: Socket };
}

/** The subscription of Mercurius in a context: it calls the functions in `queue.close` when the client leaves. */
export interface MercuriusSubscription {
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

/**
 * Returns a signal that aborts when the client of an operation has ended it without disconnecting, or has disconnected.
 *
 * @param reason returns the reason of the abort
 */
export function operationSignal(
  { connection, subscription, disconnected }: OperationEnds,
  reason: () => unknown,
): AbortSignal | undefined {
  const controller = new AbortController();
  const abort = (): void => controller.abort(reason());
  const isFollowed = followMercurius(subscription, abort) || followConnection(connection, abort);
  if (!isFollowed) return disconnected;
  if (disconnected?.aborted) abort();
  else if (disconnected) onAbort(disconnected, abort);
  return controller.signal;
}

/** Where the end of an operation is seen. */
export interface OperationEnds {
  readonly connection?: GraphqlConnection | undefined;
  readonly subscription?: MercuriusSubscription | undefined;
  readonly disconnected?: AbortSignal | undefined;
}

/** Whether `pubsub` in a context is that of a subscription of Mercurius, and not one of the application. */
export function isOfMercurius(
  pubsub: MercuriusSubscription | undefined,
): pubsub is Required<MercuriusSubscription> {
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

/**
 * Follows an operation of `graphql-ws`, which removes its id from the connection when a message ends it. The library states
 * the id to no resolver: it is one of those without an iterator. While several operations have begun at the same time, the
 * signal aborts when all of them have ended, so that no client loses an operation that it has not ended.
 */
function followConnection(connection: GraphqlConnection | undefined, abort: () => void): boolean {
  const { subscriptions, extra: { socket } = {} } = connection ?? {};
  if (!subscriptions || !socket?.on || !socket.prependListener) return false;
  const others = assigned.get(subscriptions) ?? new Set();
  assigned.set(subscriptions, others);
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
  const known = followers.get(socket);
  if (known) return known;
  const all = new Set<() => void>();
  followers.set(socket, all);
  const follow = (): void => all.forEach((follower) => follower());
  socket.prependListener!('message', follow); // A message may begin another operation with an id that has ended.
  socket.on!('message', follow);
  return all;
}
