/**
 * What decides when the store cannot: `'allow'` allows the hit uncounted, `'deny'` denies it (over HTTP with a
 * 503, since the client has done nothing wrong), `'local'` counts it in this process, with its share of the limit.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;
