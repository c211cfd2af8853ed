import type { ServerResponse } from 'node:http';
import { entryOf } from '../contracts/entry-of.js';
import { onAbort } from '../contracts/timer.js';

/** How a response ended: with a status, or cut off before it was sent completely. */
export type ResponseEnd = { readonly statusCode: number } | 'cut-off';

/** A request of Node.js, which has a field that its types do not state. */
export interface UpgradeRequest {
  /** Whether the client wants another protocol on its connection. */
  readonly upgrade?: boolean;
}

/**
 * Calls the listener once when a response has ended: it was sent, it failed, or the client disconnected.
 */
export function afterResponse(response: unknown, listener: (end: ResponseEnd) => void): void {
  const raw = rawOf(response) as ServerResponse;
  // A pipelined response that waits for earlier ones has no socket, and gets no event if the client disconnects.
  const connection = raw.socket ? undefined : raw.req?.socket;
  let stop: (() => void) | undefined;
  const finish = (): void => {
    raw.off('close', finish).off('finish', finish);
    stop?.();
    // Over HTTP/2, a response whose stream the client has reset is finished, although it was not ended.
    listener(raw.writableFinished && raw.writableEnded ? { statusCode: raw.statusCode } : 'cut-off');
  };
  if (raw.closed || connection?.destroyed) {
    finish();
    return;
  }
  raw.once('close', finish);
  // @fastify/websocket passes an upgrade to a route, and keeps its connection open.
  if ((raw.req as UpgradeRequest | undefined)?.upgrade) raw.once('finish', finish);
  const ended = connection && connectionSignal(connection, 'close', false, () => undefined);
  if (ended) stop = onAbort(ended, finish);
}

/** By the response or connection: many requests may wait for one. */
const signals = new WeakMap<object, AbortSignal>();

/**
 * Returns a signal that aborts when a response has ended; the same for each call.
 *
 * @param reason returns the reason of the abort
 */
export function responseSignal(response: unknown, reason: () => unknown): AbortSignal {
  return signalOf(rawOf(response), reason, (abort) => afterResponse(response, abort));
}

/** A connection that emits an event when it has ended. */
export interface Connection {
  once(event: string, listener: () => void): unknown;
}

/**
 * Returns a signal that aborts when a connection has ended; the same for each call.
 *
 * @param event the event that it emits then
 * @param isClosed whether it has ended already
 * @param reason returns the reason of the abort
 */
export function connectionSignal(
  connection: Connection,
  event: string,
  isClosed: boolean,
  reason: () => unknown,
): AbortSignal {
  return signalOf(connection, reason, (abort) => {
    if (isClosed) abort();
    else connection.once(event, abort);
  });
}

function signalOf(source: object, reason: () => unknown, listen: (abort: () => void) => void): AbortSignal {
  return entryOf(signals, source, () => {
    const controller = new AbortController();
    listen(() => controller.abort(reason()));
    return controller.signal;
  });
}

/** Whether a value is a response of Node.js, or one that Fastify wraps. */
export function isResponse(value: object): boolean {
  return 'writableFinished' in rawOf(value);
}

/** Returns the request or response of Node.js, which Fastify wraps and Express extends. */
export function rawOf(exchanged: unknown): object {
  return (exchanged as { readonly raw?: object }).raw ?? (exchanged as object);
}
