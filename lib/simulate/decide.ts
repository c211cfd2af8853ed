import type { Parameters, Step } from '../contracts/algorithm.js';
import type { CompiledRule } from '../rules/compiled-rule.js';
import type { ClientRecord } from './client.js';

export const ALLOWED = 0;
export const DELAYED = 1;
export const DENIED = 2;

/** The outcome of a request: `ALLOWED`, `DELAYED` or `DENIED`. */
export type Outcome = typeof ALLOWED | typeof DELAYED | typeof DENIED;

/**
 * Decides a request of a client as the memory store does, by the algorithm's reference implementation.
 *
 * @param now microseconds since the epoch
 */
export function decide(rule: CompiledRule, record: ClientRecord, now: number): Outcome {
  const outcome = outcomeOf(rule, record, now);
  if (outcome === DENIED) record.denied += 1;
  return outcome;
}

function outcomeOf(rule: CompiledRule, record: ClientRecord, now: number): Outcome {
  const step = stepOf(rule, record, now);
  if (!step?.allowed) return DENIED;
  return step.delay > 0 ? DELAYED : ALLOWED;
}

/**
 * Decides a request of a client, and stores its state. Returns `undefined` if the client is blocked.
 *
 * @param now microseconds since the epoch
 * @param lease the name under which the permits are held, for an algorithm with leases
 */
export function stepOf(
  rule: CompiledRule,
  record: ClientRecord,
  now: number,
  lease?: string,
): Step<unknown> | undefined {
  if (record.blockedUntil > now) return undefined;
  const { algorithm, cost } = rule;
  const step = algorithm.step(stateAt(record, now), now, cost, parametersOf(rule, now), 0, lease);
  if (!step.allowed) {
    if (rule.block !== undefined && cost > 0 && step.retryAfter !== null) {
      record.blockedUntil = now + rule.block;
    }
  } else if (cost > 0) {
    record.state = step.state;
    record.expiresAt = now + step.expiresAfter;
  }
  return step;
}

/** Returns the state of a client; `undefined` if it has expired. */
export function stateAt({ state, expiresAt }: ClientRecord, now: number): unknown {
  return expiresAt > now ? state : undefined;
}

/** Returns the parameters of a rule at an instant. */
export function parametersOf({ parameters, parametersAt }: CompiledRule, now: number): Parameters {
  return parametersAt === undefined ? parameters : parametersAt(now / 1000);
}

/** Measures the state of a client, and deletes it if it has expired. */
export function measure({ algorithm }: CompiledRule, record: ClientRecord, now: number): void {
  if (record.expiresAt <= now) record.state = undefined;
  record.size = record.state === undefined ? 0 : (algorithm.sizeOf?.(record.state) ?? 1);
}
