/** The timers that stay real while a test controls intervals, so that connections and promises continue. */
export const STILL_REAL = [
  ...['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask'],
  ...['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'],
] as const;
