import type { Redis } from 'ioredis';

/** Calls a bare program: allowed (1 or 0), remaining, wait and reset (microseconds), of each key. */
type Call = (keys: readonly string[], ...args: readonly number[]) => Promise<number[]>;

/** See bare.mjs. */
export function openBare(
  redis: Redis,
  options?: { readonly algorithm?: 'gcra' | 'sliding-window-log'; readonly functions?: boolean },
): Promise<{ readonly one: Call; readonly many: Call }>;
