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
  if (record.blockedUntil > now) return DENIED;
  const { algorithm, parametersAt, cost } = rule;
  const parameters = parametersAt === undefined ? rule.parameters : parametersAt(now / 1000);
  const state = record.expiresAt > now ? record.state : undefined;
  const step = algorithm.step(state, now, cost, parameters);
  if (!step.allowed) {
    if (rule.block !== undefined && cost > 0 && step.retryAfter !== null) {
      record.blockedUntil = now + rule.block;
    }
    return DENIED;
  }
  if (cost > 0) {
    record.state = step.state;
    record.expiresAt = now + step.expiresAfter;
  }
  return step.delay > 0 ? DELAYED : ALLOWED;
}

/** Measures the state of a client, and deletes it if it has expired. */
export function measure({ algorithm }: CompiledRule, record: ClientRecord, now: number): void {
  if (record.expiresAt <= now) record.state = undefined;
  record.size = record.state === undefined ? 0 : (algorithm.sizeOf?.(record.state) ?? 1);
}
