import { onAbort } from '../contracts/abort.js';
import { callSafely } from '../contracts/thenable.js';

/**
 * Returns an iterator over the same values.
 *
 * @param ended called once when there are no more values, with the error if there is one
 * @param closed aborts when the client has ended the subscription, for a server that does not return the iterator then
 */
export function observed<Value>(
  values: AsyncIterable<Value>,
  ended: (error?: unknown) => void,
  closed?: AbortSignal,
): AsyncIterableIterator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  let isEnded = false;
  const end = (error?: unknown): void => {
    if (!isEnded) ended(error);
    isEnded = true;
    unheard?.();
  };
  const close = (): void => {
    end();
    callSafely(
      () => iterator.return?.(),
      undefined,
      () => undefined,
    ); // The client has left.
  };
  const unheard = closed && onAbort(closed, close);
  if (closed?.aborted) close();
  const follow = async (step: Promise<IteratorResult<Value>>): Promise<IteratorResult<Value>> => {
    try {
      const result = await step;
      if (result.done) end();
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
      end();
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
