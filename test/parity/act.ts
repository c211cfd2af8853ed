import { isDeepStrictEqual } from 'node:util';
import type { Adjustment, DecideOptions, Hit, Store } from '../../lib/store.js';

/** Performs a step on a store, and returns everything that the store returned: one result per hit or adjustment. */
export type Act = (store: Store) => Promise<readonly unknown[]>;

export const nothing: Act = async () => [];

export function silent(act: (store: Store) => Promise<unknown>): Act {
  return async (store) => {
    await act(store);
    return [];
  };
}

/**
 * Sends requests in one turn of the event loop, which a store may decide with one call. Before a single request, it peeks.
 *
 * @throws Error if the results of the peek are not those of the request
 */
export function decide(requests: readonly (readonly Hit[])[], options: DecideOptions): Act {
  if (options.dryRun || requests.length > 1) return resultsOf(requests, options);
  const peek = resultsOf(requests, { ...options, dryRun: true, peek: true });
  const take = resultsOf(requests, options);
  return async (store) => {
    const peeked = await peek(store);
    const results = await take(store);
    if (isDeepStrictEqual(peeked, results)) return results;
    throw new Error(`peeked ${JSON.stringify(peeked)}, and then ${JSON.stringify(results)}`);
  };
}

function resultsOf(requests: readonly (readonly Hit[])[], options: DecideOptions): Act {
  return async (store) => {
    const outcomes = await Promise.all(requests.map((hits) => store.decide(hits, options)));
    return outcomes
      .flat()
      .map(({ now, allowed, remaining, retryAfter, resetAfter, delay, part, nextAfter }) => {
        return { now, allowed, remaining, retryAfter, resetAfter, delay, part, nextAfter };
      });
  };
}

export function adjust(adjustments: readonly Adjustment[]): Act {
  return adjustments.length === 0 ? nothing : (store) => store.adjust(adjustments);
}
