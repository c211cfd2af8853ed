import type { Allowed, Denied, Next, Step } from '../../contracts/algorithm.js';
import { setBack } from '../../contracts/clock.js';
import type { Adjustment, Counter } from '../../contracts/store.js';
import type { Entries } from './entries.js';

/** A denial of a blocked subject: for how many microseconds, and whether it was blocked before. */
type BlockedStep = Denied & { readonly blockedFor: number; readonly isBlocked?: boolean };

/** The step of an algorithm, or the denial of a blocked subject. */
export type BlockableStep = Step<unknown> & Partial<Pick<BlockedStep, 'blockedFor' | 'isBlocked'>>;

/** The state of a block. Both instants are in microseconds since the epoch. */
export interface BlockState {
  readonly until: number;
  readonly written: number;
}

/** Returns for how long a subject is still blocked. A block that began before the clock was set back keeps its length. */
export function blockedFor(block: BlockState | undefined, now: number): number {
  return block ? Math.max(0, block.until - setBack(block.written, now) - now) : 0;
}

/** Returns the step of a rule that blocks: a denial starts the block, unless the cost can never fit. */
export function withBlock(step: Step<unknown>, duration: number): BlockableStep {
  if (step.allowed || step.retryAfter === null || duration === 0) return step;
  return blocked(step.retryAfter, step.resetAfter, duration);
}

/**
 * Returns the denial of a subject that is blocked for a duration, with the `retryAfter` and `resetAfter` of the algorithm:
 * until the block has ended and the algorithm allows the request, which may be never.
 */
export function blocked(retryAfter: number | null, resetAfter: number, blockedFor: number): BlockedStep {
  return {
    allowed: false,
    remaining: 0,
    retryAfter: retryAfter === null ? null : Math.max(retryAfter, blockedFor),
    resetAfter: Math.max(resetAfter, blockedFor),
    delay: 0,
    blockedFor,
  };
}

/** Returns the state after an adjustment; `undefined` if there was nothing to adjust. */
export function nextOf(
  { algorithm, parameters, kind, cost, receipt }: Adjustment,
  state: unknown,
  now: number,
): (Next<unknown> & Partial<Allowed<unknown>>) | undefined {
  if (kind === 'renew') return algorithm.renew?.(state, now, parameters, String(receipt));
  if (kind !== 'charge') {
    return algorithm.refund(state, now, cost, parameters, receipt, kind === 'refund-last');
  }
  const step = algorithm.step(state, now, cost, parameters, Infinity);
  return step.allowed ? step : undefined;
}

/** Stores which thresholds a charge has crossed, as alerts.lua does. Returns what reports them. */
export function crossingsOf(
  entries: Entries,
  { key, alerts, cost }: Counter & { readonly cost: number },
  { remaining = 0, resetAfter = 0 }: { readonly remaining?: number; readonly resetAfter?: number },
  now: number,
): (() => void)[] {
  const reports: (() => void)[] = [];
  for (const [index, given] of alerts!.levels.entries()) {
    const level = given < 0 ? cost - 1 : given;
    if (remaining > level || remaining + cost <= level) continue;
    const reported = { key: `${key}:alert:${given}` };
    if (Number(entries.get(reported) ?? 0) > now) continue;
    const until = now + (alerts!.keptFor || resetAfter);
    entries.set(reported, until, until, 1);
    reports.push(() => alerts!.crossed(index, remaining));
  }
  return reports;
}
