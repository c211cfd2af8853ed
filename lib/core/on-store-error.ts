/**
 * What to answer when the store does not: `'allow'` lets the hit through, `'deny'` refuses it (over HTTP
 * with a 503, since the client has done nothing wrong), `'local'` counts it in this process, which has
 * its part of the limit.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;
