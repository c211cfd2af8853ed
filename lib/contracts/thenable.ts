/** Whether a value can be awaited: a promise of this realm, of another one, or any other object with a `then`. */
export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  if (value instanceof Promise) return true;
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject && typeof (value as Partial<PromiseLike<Value>>).then === 'function';
}

/** A value that can be awaited as a promise of this realm; any other value unchanged. */
export function promised<Value>(value: Value | PromiseLike<Value>): Value | Promise<Value> {
  if (value instanceof Promise) return value as Promise<Value>;
  return isThenable(value) ? Promise.resolve(value) : value;
}

/** Calls a function of the application, and reports an error that it throws or rejects with. */
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

/** A value, or a promise of it where the result is not available at once. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Continues with a value at once, or when it is there. */
export function then<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
