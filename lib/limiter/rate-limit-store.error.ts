/** Thrown by `block` and `reset` when Redis did not confirm the operation. Repeat it when Redis decides again. */
export class RateLimitStoreError extends Error {
  override readonly name = 'RateLimitStoreError';

  /**
   * @param operation the operation that failed
   * @param cause the error of the store
   */
  constructor(
    /** The operation that failed. */
    readonly operation: 'block' | 'reset',
    cause: unknown,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `${operation}: the store did not confirm it (${reason}). It applies in this process only; repeat it when the store is available again.`,
      { cause },
    );
  }
}
