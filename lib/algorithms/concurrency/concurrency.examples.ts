import type { Example } from '../example.js';

/** Rules to try concurrency with. */
export const concurrencyExamples: readonly Example[] = [
  { variant: '', rule: ({ windowMs }) => ({ lease: `${windowMs}ms` }), keepsEntries: true },
];
