import { allow, deny, NEVER, type AlgorithmDefinition } from '../definition.js';
import { setBack } from '../../contracts/clock.js';
import { HitLog } from './hit-log.js';

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
 * The instant of the last entry is that of the last write. After the clock was set back, what counted at that instant is
 * one entry at the current time.
 */
export const slidingWindowLog: AlgorithmDefinition<SlidingWindowLogOptions, HitLog, 'limit' | 'window'> = {
  name: 'sliding-window-log',
  version: 2,
  bound: 'any window',
  examples: [{ variant: '', rule: () => ({}), keepsEntries: true }],
  parameters: ['limit', 'window'],
  options: {},
  compile: ({ limit, window }) => ({ limit, window }),

  step(state, now, cost, { limit, window }, maxWait = 0) {
    if (limit === 0) return NEVER;

    const log = read(state, now, window);
    const latest = Math.max(now, log.lastInstant);
    const base = baseAt(log, latest, window);
    const used = log.lastTotal - log.total(base);
    const remaining = Math.max(0, limit - used);

    const heldFor = used > 0 ? log.lastInstant + window - now : 0;
    if (cost > remaining && maxWait < Infinity) {
      if (cost > limit) return deny(remaining, null, heldFor);
      const freeing = log.firstTotalReaching(log.lastTotal + cost - limit, base);
      return deny(remaining, log.instant(freeing) + window - now, heldFor);
    }

    if (cost === 0) return allow(remaining, 0, heldFor, log, heldFor);
    const total = Math.min(Number.MAX_SAFE_INTEGER, log.lastTotal + cost);
    const resetAfter = latest + window - now;
    return allow(Math.max(0, remaining - cost), 0, resetAfter, log.push(latest, total, base), resetAfter);
  },

  /** Subtracts the cost from the request and from all later totals, unless there are more than `MOST_REWRITTEN`. */
  refund(log, now, cost, { window }, receipt, onlyLast) {
    const instant = Number(receipt) - window;
    if (onlyLast || Number(receipt) <= now || setBack(log.lastInstant, now) > 0) return undefined;
    const index = log.firstInstantReaching(instant);
    if (log.instant(index) !== instant || log.length - index > MOST_REWRITTEN) return undefined;
    const state = log.reduce(index, cost);
    return { state, expiresAfter: Math.max(0, state.lastInstant + window - now) };
  },

  isAhead: (log, now) => setBack(log.lastInstant, now) > 0,

  sizeOf: (log) => 1 + Math.floor(log.heldLength / ENTRIES_PER_SIZE),
};

/** Returns the log that applies now: an empty one if every request has expired. */
function read(state: HitLog | undefined, now: number, window: number): HitLog {
  if (state === undefined || state.lastInstant <= now - window) return HitLog.EMPTY;
  if (setBack(state.lastInstant, now) === 0) return state;
  const used = state.lastTotal - state.total(baseAt(state, state.lastInstant, window));
  return HitLog.EMPTY.push(now, used, 0);
}

/** Returns the index of the last entry that does not count at an instant. */
function baseAt(log: HitLog, instant: number, window: number): number {
  return log.firstInstantReaching(instant - window + 1) - 1;
}
