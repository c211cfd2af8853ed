/**
 * Returns the result of a function that creates an error, without collecting a stack trace: that would cost more than
 * deciding a request, and the stack trace of a denial is always the same.
 */
export function withoutStack<Result>(create: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
