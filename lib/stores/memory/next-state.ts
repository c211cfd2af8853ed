import type { Allowed, Next } from '../../contracts/algorithm.js';
import type { Adjustment, Hit } from '../../contracts/store.js';
import type { BlockableStep } from './blocked-step.js';

/** Returns the state after an adjustment; `undefined` if there was nothing to adjust. */
export function nextOf(
  { algorithm, parameters, kind, cost, receipt }: Adjustment,
  state: unknown,
  now: number,
): Next<unknown> | undefined {
  if (kind === 'renew') return algorithm.renew?.(state, now, parameters, String(receipt));
  if (kind !== 'charge') {
    return algorithm.refund(state, now, cost, parameters, receipt, kind === 'refund-last');
  }
  const step = algorithm.step(state, now, cost, parameters, Infinity);
  return step.allowed ? step : undefined;
}

/** Returns the time until a permit is available if a request takes the last one; `null` if it does not. */
export function nextOfPeek(
  { algorithm, parameters, cost }: Hit,
  { remaining, state }: BlockableStep & Allowed<unknown>,
  now: number,
) {
  if (remaining > 0 || cost === 0 || algorithm.leases) return null;
  return algorithm.step(state, now, 1, parameters).retryAfter;
}
