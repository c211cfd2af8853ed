import { escaped, messageOf } from '../contracts/shown.js';

const UNCONFIRMED =
  'It applies in this process, and may have been made in the store: repeat it when the store is available again.';

function textOf(operation: RateLimitStoreError['operation'], reason: string): string {
  if (operation === 'read') return `live rules: the source could not be read (${reason}).`;
  return operation === 'change'
    ? `live rules: the source did not confirm the change (${reason}). It may have been made: check with rules.get().`
    : `${operation}: the store did not confirm it (${reason}). ${UNCONFIRMED}`;
}

/**
 * Thrown by `block`, `unblock` and `reset` when Redis did not confirm the operation, and by the methods of live rules
 * when their source did not. It may have been made all the same: repeat an operation when Redis decides again, and read a
 * live rule before the change is repeated.
 */
export class RateLimitStoreError extends Error {
  override readonly name = 'RateLimitStoreError';

  /**
   * @param operation the operation that failed
   * @param cause the error of the store
   */
  constructor(
    /** The operation that failed. */
    readonly operation: 'block' | 'unblock' | 'reset' | 'change' | 'read',
    cause: unknown,
  ) {
    super(textOf(operation, escaped(messageOf(cause))), { cause });
  }
}

/**
 * Runs an operation that the store has to confirm.
 *
 * @throws RateLimitStoreError if it did not
 */
export async function confirmed<Result>(
  operation: 'block' | 'unblock' | 'reset',
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw new RateLimitStoreError(operation, error);
  }
}
