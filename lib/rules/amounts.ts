import type { Numbers, Quota } from '../algorithms/definition.js';
import { shareOf } from '../algorithms/share.js';
import { toMicroseconds } from '../contracts/clock.js';
import type { Parameters } from '../contracts/algorithm.js';
import type { AnyDefinition } from './rule-fields.js';

/** What a rule's algorithm works with, and what a decision reports as the limit. */
export interface Amounts {
  readonly parameters: Parameters;
  /** Those of an instant, in milliseconds since the epoch, where they change with time. */
  readonly parametersAt?: ((nowMs: number) => Parameters) | undefined;
  /** The most permits that can be had at once. */
  readonly capacity: number;
  /** The milliseconds in which they all come back; 0 if they come back when they are given back. */
  readonly capacityWindowMs: number;
}

/** An algorithm, or the variant of one that serves a rule. */
export type Compiler = Pick<AnyDefinition, 'compile' | 'compileAt' | 'capacity' | 'share'>;

/** The amounts of a checked rule. */
export function amountsOf(
  quota: Quota,
  compiler: Compiler,
): Amounts & { readonly parameters: Numbers<string> } {
  const { limit, window } = quota;
  const parameters = compiler.compile(quota);
  const compileAt = compiler.compileAt?.(quota);
  const capacity = limit === 0 ? 0 : (compiler.capacity?.(parameters) ?? limit);
  return {
    parameters,
    parametersAt: compileAt && ((nowMs) => compileAt(toMicroseconds(nowMs))),
    capacity,
    capacityWindowMs: Math.ceil((limit === 0 ? window : (window * capacity) / limit) / 1000),
  };
}

/**
 * The amounts of one of several processes that share the rule. The limit and every option that counts permits
 * are divided, rounded down, and at least 1.
 */
export function sharedAmounts(quota: Quota, compiler: Compiler): (processes: number) => Amounts {
  let last: { readonly processes: number; readonly amounts: Amounts } | undefined;
  return (processes) => {
    if (last?.processes === processes) return last.amounts;
    const limit = shareOf(quota.limit, processes);
    const options = quota.limit === 0 ? {} : compiler.share?.(quota, processes);
    const amounts = amountsOf({ ...quota, ...options, limit }, compiler);
    last = { processes, amounts };
    return amounts;
  };
}
