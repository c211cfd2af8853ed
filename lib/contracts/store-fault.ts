import { escaped, messageOf } from './shown.js';

/**
 * The reason why Redis could not decide.
 *
 * - `connection`: there is no connection
 * - `timeout`: no reply within the deadline
 * - `access`: the server rejects the credentials, or permission for a command or a key is missing
 * - `state`: the server is loading, read-only or out of memory
 * - `topology`: the server is a Sentinel, or a node of a Redis Cluster, and the client is not a Cluster
 * - `moving`: the keys of a request are on two servers while their slot moves, or no server has it
 * - `key`: a key holds a value that is not recognised as a state
 * - `other`: any other error, which may concern one key only
 */
export type FaultKind =
  'connection' | 'timeout' | 'access' | 'state' | 'topology' | 'moving' | 'key' | 'other';

/**
 * The purpose of a call to the store.
 *
 * - `decision`: the decision of a request, which the fallback then took
 * - `refund`: a refund, a renewal, or the settlement of a reservation
 * - `heartbeat`: the count of processes, which may now be out of date
 */
export type StoreCall = 'decision' | 'refund' | 'heartbeat';

/** The error in events when Redis could not decide. Its message is one sentence with the server and the cause. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';
  /** Address of the server; `''` for the only server. */
  readonly server: string;

  /**
   * @param kind the kind of failure
   * @param code one word for metrics, such as `ECONNREFUSED`
   * @param message one sentence with the server and the cause
   * @param options the error of the client library as `cause`, and the server's address
   */
  constructor(
    /** Kind of failure. */
    readonly kind: FaultKind,
    /** One word for metrics, such as `ECONNREFUSED`, `NOPERM` or `TIMEOUT`. */
    readonly code: string,
    message: string,
    options: { readonly cause?: unknown; readonly server?: string } = {},
  ) {
    super(escaped(message), options);
    this.server = options.server ?? '';
  }
}

/** Returns a `StoreFault` unchanged, and wraps any other error of a store in one. */
export function storeFaultOf(error: unknown): StoreFault {
  if (error instanceof StoreFault) return error;
  const message = messageOf(error);
  return new StoreFault('other', codeOf(error), message, { cause: error });
}

/** The error's code, the word in capitals that its message begins with, or its name. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ERR';
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  return /^[A-Z]{2,20}\b/.exec(messageOf(error))?.[0] ?? error.name;
}
