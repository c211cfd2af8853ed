/** Thrown by `block` and `reset` when the store did not confirm that it did what it was asked for. */
export class RateLimitStoreError extends Error {
  override readonly name = 'RateLimitStoreError';

  /** @param cause why: the error of the store */
  constructor(
    readonly operation: 'block' | 'reset',
    cause: unknown,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `${operation}: the store did not confirm it (${reason}). It applies in this process only; repeat it when the store answers again.`,
      { cause },
    );
  }
}
