import type { Parameters, Receipt, Step } from '../contracts/algorithm.js';
import type { CompiledRule } from './compiled-rule.js';

/** The state of a counter in a replay. */
export interface ReplayedCounter {
  state: unknown;
  /** When the state decides like no state, in microseconds since the epoch. */
  expiresAt: number;
  /** When the block of the subject ends, in microseconds since the epoch. */
  blockedUntil: number;
}

/**
 * Decides a request at an instant as the memory store does, by the algorithm's reference implementation, and stores the
 * state. Returns `undefined` if the subject is blocked.
 *
 * @param now microseconds since the epoch
 * @param lease the name under which the permits are held, for an algorithm with leases
 */
export function stepOf(
  rule: CompiledRule,
  counter: ReplayedCounter,
  now: number,
  lease?: string,
  cost = rule.cost,
): Step<unknown> | undefined {
  if (counter.blockedUntil > now) return undefined;
  const step = rule.algorithm.step(stateAt(counter, now), now, cost, parametersOf(rule, now), 0, lease);
  if (!step.allowed) {
    if (rule.block !== undefined && cost > 0 && step.retryAfter !== null) {
      counter.blockedUntil = now + rule.block;
    }
  } else if (cost > 0) {
    counter.state = step.state;
    counter.expiresAt = now + step.expiresAfter;
  }
  return step;
}

/**
 * Refunds a charge at an instant as the memory store does.
 *
 * @param now microseconds since the epoch
 * @param receipt of the charge: when it expires
 */
export function refundIn(
  rule: CompiledRule,
  counter: ReplayedCounter,
  now: number,
  cost: number,
  receipt: Receipt,
): void {
  const state = stateAt(counter, now);
  if (state === undefined) return;
  const next = rule.algorithm.refund(state, now, cost, parametersOf(rule, now), receipt, false);
  if (!next) return;
  counter.state = next.state;
  counter.expiresAt = now + next.expiresAfter;
}

/** Returns the state of a counter; `undefined` if it has expired. */
export function stateAt({ state, expiresAt }: ReplayedCounter, now: number): unknown {
  return expiresAt > now ? state : undefined;
}

/** Returns the parameters of a rule at an instant. */
export function parametersOf({ parameters, parametersAt }: CompiledRule, now: number): Parameters {
  return parametersAt === undefined ? parameters : parametersAt(now / 1000);
}
