import type { AlgorithmDefinition } from '../definition.js';
import { allow, deny, NEVER } from '../result.js';
import { EMPTY_LOG, type HitLog, type Kept } from './hit-log.js';
import { slidingWindowLogExamples } from './sliding-window-log.examples.js';

/** `algorithm: 'sliding-window-log'` has no options of its own. */
export type SlidingWindowLogOptions = Record<never, never>;

/** Number of entries that take as much memory as a key. */
const ENTRIES_PER_SIZE = 16;

/** Maximum number of entries that a refund rewrites. An older request stays charged until it expires. */
const MOST_REWRITTEN = 1000;

/**
 * The sliding window log: stores every allowed request, and allows at most `limit` permits in any window. Exact; its
 * memory grows with the number of stored requests, up to `limit` per key.
 *
 * If rules with windows of different lengths use the same log (after a change, or in a rolling deploy), it also
 * enforces the larger limit in the longer window, until that window has passed since its rule last charged the log.
 */
export const slidingWindowLog: AlgorithmDefinition<SlidingWindowLogOptions, HitLog, 'limit' | 'window'> = {
  name: 'sliding-window-log',
  bound: 'any window',
  examples: slidingWindowLogExamples,
  parameters: ['limit', 'window'],
  options: {},
  compile: ({ limit, window }) => ({ limit, window }),

  step(state, now, cost, { limit, window }, maxWait = 0) {
    if (limit === 0) return NEVER;

    const found = state ?? EMPTY_LOG;
    const latest = Math.max(now, found.lastInstant);
    const { kept } = found;
    const endsAt = kept.until === 0 ? found.expiresAt : kept.until;
    const isLonger = kept.window > window && latest < endsAt;
    const isGone = latest >= found.expiresAt || (!isLonger && found.lastInstant <= latest - window);
    const log = isGone ? EMPTY_LOG : found;

    const base = log.firstInstantReaching(latest - window + 1) - 1;
    const used = log.lastTotal - log.total(base);
    const first = isLonger ? log.firstInstantReaching(latest - kept.window + 1) - 1 : base;
    const most = isLonger ? Math.max(limit, kept.limit) : limit;
    const usedLonger = log.lastTotal - log.total(first);
    const remaining = Math.max(0, Math.min(limit - used, most - usedLonger));

    const heldFor = used > 0 ? log.lastInstant + window - now : 0;
    if (cost > remaining && maxWait < Infinity) {
      if (cost > limit) return deny(remaining, null, heldFor);
      let retryAfter = 0;
      if (cost > limit - used) {
        const freeing = log.firstTotalReaching(log.lastTotal + cost - limit, base);
        retryAfter = log.instant(freeing) + window - now;
      }
      if (cost > most - usedLonger) {
        const freeing = log.firstTotalReaching(log.lastTotal + cost - most, first);
        retryAfter = Math.max(retryAfter, Math.min(log.instant(freeing) + kept.window, endsAt) - now);
      }
      return deny(remaining, retryAfter, Math.max(heldFor, retryAfter));
    }

    const keptNow = isLonger ? keep(kept, kept.window, kept.limit, endsAt) : keep(kept, window, limit, 0);
    const instant = isGone ? now : latest;
    const total = Math.min(Number.MAX_SAFE_INTEGER, log.lastTotal + cost);
    const resetAfter = cost > 0 ? instant + window - now : heldFor;
    const next = cost > 0 ? log.push(instant, total, first, keptNow) : found;
    return allow(Math.max(0, remaining - cost), 0, resetAfter, next, instant + keptNow.window - now);
  },

  /** Subtracts the cost from the request and from all later totals, unless there are more than `MOST_REWRITTEN`. */
  refund(log, now, cost, { window }, receipt, onlyLast) {
    const instant = Number(receipt) - window;
    if (onlyLast || Number(receipt) <= now || log.expiresAt <= now) return undefined;
    const index = log.firstInstantReaching(instant);
    if (log.instant(index) !== instant || log.length - index > MOST_REWRITTEN) return undefined;
    return { state: log.reduce(index, cost), expiresAfter: log.expiresAt - now };
  },

  sizeOf: (log) => 1 + Math.floor(log.heldLength / ENTRIES_PER_SIZE),
};

/** Returns the same object if nothing has changed. */
function keep(kept: Kept, window: number, limit: number, until: number): Kept {
  const isSame = kept.window === window && kept.limit === limit && kept.until === until;
  return isSame ? kept : { window, limit, until };
}
