/**
 * Why a store could not decide.
 *
 * - `connection`: there is no connection
 * - `timeout`: no answer within the deadline
 * - `access`: the server refuses the user, a command or a key
 * - `state`: the server is in no state to decide: loading, read-only, out of memory
 * - `topology`: the server is one node of a Redis Cluster, and the client is none of a Cluster
 * - `moving`: the keys of a request are on two servers while their slot moves
 * - `other`: anything else, which may be about the request's key
 */
export type FaultKind = 'connection' | 'timeout' | 'access' | 'state' | 'topology' | 'moving' | 'other';

/** Thrown when a store could not decide: the message is one sentence that names the server and the cause. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';

  /**
   * @param code one word for metrics and for counting, such as `ECONNREFUSED`, `NOPERM` or `TIMEOUT`
   * @param options.cause the error as the client library threw it
   */
  constructor(
    readonly kind: FaultKind,
    readonly code: string,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
  }
}
