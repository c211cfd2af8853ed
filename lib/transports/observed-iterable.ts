import { defer, finalize, tap, type Observable } from 'rxjs';
import { onAbort } from '../contracts/timer.js';
import type { ResponseEnd } from '../http/response-end.js';

/**
 * Returns an iterator over the same values.
 *
 * @param ended called once when there are no more values, with the error if there is one, or because the reader has left
 * @param closed aborts when the client has ended the subscription, for a server that does not return the iterator then
 * @param seen called with each value
 */
export function observed<Value>(
  values: AsyncIterable<Value>,
  ended: (error: unknown, isLeft: boolean) => void,
  closed?: AbortSignal,
  seen?: (value: Value) => void,
): AsyncIterableIterator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  let isEnded = false;
  const end = (error?: unknown, isLeft = false): void => {
    if (!isEnded) ended(error, isLeft);
    isEnded = true;
    unheard?.();
  };
  const leave = async (): Promise<unknown> => iterator.return?.();
  const close = (): void => {
    end(undefined, true);
    leave().catch(() => undefined);
  };
  const unheard = closed && onAbort(closed, close);
  if (closed?.aborted) close();
  const follow = async (step: Promise<IteratorResult<Value>>): Promise<IteratorResult<Value>> => {
    try {
      const result = await step;
      if (result.done) end();
      else seen?.(result.value);
      return result;
    } catch (error) {
      end(error ?? new Error('the subscription failed'));
      throw error;
    }
  };
  return {
    next: () => follow(iterator.next()),
    // It ends at once: a generator that waits for its next value would return only after that.
    return: async (value) => {
      end(undefined, true);
      return (await iterator.return?.(value)) ?? { value: undefined as Value, done: true };
    },
    throw: async (error) => {
      end(error);
      if (iterator.throw) return iterator.throw(error);
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The end of a handler that has not failed, as that of a response. */
export const SUCCESS: ResponseEnd = { statusCode: 200 };

/** Returns the same values, and reports how they ended. */
export function reportingEnd(
  values: Observable<unknown>,
  ended: (end: ResponseEnd) => void,
): Observable<unknown> {
  return defer(() => {
    let end: ResponseEnd = 'cut-off';
    return values.pipe(
      tap({ error: (error) => (end = failure(error)), complete: () => (end = SUCCESS) }),
      finalize(() => ended(end)),
    );
  });
}

export function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** An error as the status of a response: its own, or 500. */
export function failure(error: unknown): ResponseEnd {
  const { getStatus } = (error ?? {}) as { readonly getStatus?: unknown };
  const status: unknown = typeof getStatus === 'function' ? getStatus.call(error) : undefined;
  return { statusCode: typeof status === 'number' && status >= 400 ? status : 500 };
}
