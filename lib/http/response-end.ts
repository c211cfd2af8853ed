import type { ServerResponse } from 'node:http';

/** How a response ended: with a status, or cut off before it was sent. */
export type ResponseEnd = { readonly statusCode: number } | 'cut-off';

/**
 * Calls the listener once when a response is over, however it ended: sent, failed, or given up by a
 * client that hung up.
 */
export function afterResponse(response: unknown, listener: (end: ResponseEnd) => void): void {
  const raw = rawResponse(response);
  // A response that waits behind others of its connection has no socket yet, and learns of no hanging up.
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

/** A signal that aborts when the response is over. */
export function responseSignal(response: unknown): AbortSignal {
  const controller = new AbortController();
  afterResponse(response, () => controller.abort());
  return controller.signal;
}

/** Node's response behind that of Fastify, which Express's extends. */
function rawResponse(response: unknown): ServerResponse {
  return ((response as { raw?: ServerResponse }).raw ?? response) as ServerResponse;
}
