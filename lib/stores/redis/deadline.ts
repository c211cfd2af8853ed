/** Thrown when Redis has not answered within the deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(timeout: number) {
    super(`no answer within ${timeout} ms`);
  }
}

/**
 * The promise's result, or an error when it has not come after so many milliseconds.
 *
 * An answer that has arrived while the event loop was busy still counts: before giving up, the loop
 * gets one turn to read it. What comes later is dropped.
 *
 * @throws DeadlineError
 */
export function within<Result>(timeout: number, promise: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new DeadlineError(timeout))), timeout);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
