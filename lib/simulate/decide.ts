import type { CompiledRule } from '../rules/compiled-rule.js';
import { stepOf } from '../rules/replay.js';
import type { ClientRecord } from './client.js';

export const ALLOWED = 0;
export const DELAYED = 1;
export const DENIED = 2;

/** The outcome of a request: `ALLOWED`, `DELAYED` or `DENIED`. */
export type Outcome = typeof ALLOWED | typeof DELAYED | typeof DENIED;

/**
 * Decides a request of a client, see `stepOf`.
 *
 * @param now microseconds since the epoch
 */
export function decide(rule: CompiledRule, record: ClientRecord, now: number): Outcome {
  const step = stepOf(rule, record, now);
  if (!step?.allowed) {
    record.denied += 1;
    return DENIED;
  }
  return step.delay > 0 ? DELAYED : ALLOWED;
}

/** Measures the state of a client, and deletes it if it has expired. */
export function measure({ algorithm }: CompiledRule, record: ClientRecord, now: number): void {
  if (record.expiresAt <= now) record.state = undefined;
  record.size = record.state === undefined ? 0 : (algorithm.sizeOf?.(record.state) ?? 1);
}
