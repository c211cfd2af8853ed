/**
 * The fallback, which decides while Redis cannot: `'local'` counts in the memory of each process, with its share
 * of the limit; `'allow'` allows the request and does not count it; `'deny'` denies it, over HTTP with a 503.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;
