import type { Numbers, Quota } from '../algorithms/definition.js';
import { shareOf } from '../algorithms/share.js';
import { toMicroseconds } from '../contracts/clock.js';
import type { Parameters } from '../contracts/algorithm.js';
import type { AnyDefinition } from './rule-fields.js';

/** The parameters of a rule's algorithm, and the limit that its decisions report. */
export interface Amounts {
  readonly parameters: Parameters;
  /** Returns the parameters at an instant in milliseconds since the epoch. Absent if they do not depend on the time. */
  readonly parametersAt?: ((nowMs: number) => Parameters) | undefined;
  /** Maximum number of permits that can be taken at once. */
  readonly capacity: number;
  /** Milliseconds in which the capacity is refilled; 0 if permits become available when they are released. */
  readonly capacityWindowMs: number;
}

/** The algorithm, or the variant of one, that evaluates a rule. */
export type Compiler = Pick<AnyDefinition, 'compile' | 'compileAt' | 'capacity' | 'share'>;

/** Returns the amounts of a checked rule. */
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
 * Returns a function from the number of processes that share a rule to the amounts of one of them. The limit and every
 * option that counts permits are divided by that number, rounded down, and at least 1.
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
