/**
 * Converts a value that can be awaited to a native promise: a promise of any realm, or another object with a `then` method.
 * Returns any other value unchanged.
 */
export function promised<Value>(value: Value | PromiseLike<Value>): Value | Promise<Value> {
  if (value instanceof Promise) return value as Promise<Value>;
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  const isThenable = isObject && typeof (value as Partial<PromiseLike<Value>>).then === 'function';
  return isThenable ? Promise.resolve(value) : (value as Value);
}

/** Calls a function of the application, and passes an error that it throws or rejects with to `failed`. */
export function callSafely<Argument>(
  called: (argument: Argument) => unknown,
  argument: Argument,
  failed: (error: unknown) => void,
): void {
  try {
    const result = promised(called(argument));
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** A value, or a promise of it if it is not available yet. */
export type MaybePromise<Value> = Value | Promise<Value>;
