/**
 * What a function gives, its errors without a stack: collecting one costs more than deciding a request, and
 * a refusal comes from one place.
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
