import type { ServerResponse } from 'node:http';

/** How a response ended: with a status, or cut off before it was sent completely. */
export type ResponseEnd = { readonly statusCode: number } | 'cut-off';

/**
 * Calls the listener once when a response has ended: it was sent, it failed, or the client disconnected.
 */
export function afterResponse(response: unknown, listener: (end: ResponseEnd) => void): void {
  const raw = rawResponse(response);
  // A pipelined response that waits for earlier ones has no socket, and gets no event if the client disconnects.
  const connection = raw.socket ? undefined : raw.req?.socket;
  const finish = (): void => {
    raw.off('close', finish);
    connection?.off('close', finish);
    listener(raw.writableFinished ? { statusCode: raw.statusCode } : 'cut-off');
  };
  if (raw.closed || connection?.destroyed) {
    finish();
    return;
  }
  raw.once('close', finish);
  connection?.once('close', finish);
}

/**
 * Returns a signal that aborts when the response has ended.
 *
 * @param reason returns the reason of the abort
 */
export function responseSignal(response: unknown, reason?: () => unknown): AbortSignal {
  const controller = new AbortController();
  afterResponse(response, () => controller.abort(reason?.()));
  return controller.signal;
}

/** Returns the response of Node.js, which Fastify wraps and Express extends. */
function rawResponse(response: unknown): ServerResponse {
  return ((response as { raw?: ServerResponse }).raw ?? response) as ServerResponse;
}
