import type { Example } from '../definition.js';

/** Example rules of concurrency. */
export const concurrencyExamples: readonly Example[] = [
  { variant: '', rule: ({ windowMs }) => ({ lease: `${windowMs}ms`, queue: 100 }), keepsEntries: true },
];
