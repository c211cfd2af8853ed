/** All but intervals, so that connections and promises go on while a spec moves the timers by hand. */
export const STILL_REAL = [
  ...['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask'],
  ...['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'],
] as const;
