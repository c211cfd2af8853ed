import type { Call } from './call.js';

/**
 * Runs calls. A wrapper around a caller is a caller itself: it adds one capability, and passes the call to the next
 * caller.
 */
export interface Caller {
  /** Returns the reply of the server. */
  run(call: Call): Promise<unknown>;
}
