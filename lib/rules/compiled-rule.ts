import { perProcess, type Quota, type TakenAhead } from '../algorithms/definition.js';
import { toMicroseconds } from '../contracts/clock.js';
import type { Parameters, Algorithm } from '../contracts/algorithm.js';
import type { AnyDefinition } from '../algorithms/known.js';
import type { OnStoreError } from './rule.js';
import type { Alerts, Hit } from '../contracts/store.js';
import type { MaybePromise } from '../contracts/thenable.js';
import type { Subject } from './subject.js';

/** The parameters of a rule's algorithm, and the limit that its decisions report. */
interface Amounts {
  readonly parameters: Parameters;
  /** Returns the parameters at an instant in milliseconds since the epoch. Absent if they do not depend on the time. */
  readonly parametersAt?: ((nowMs: number) => Parameters) | undefined;
  /** Maximum number of permits that can be taken at once. */
  readonly capacity: number;
  /** Milliseconds in which the capacity is refilled; 0 if permits become available when they are released. */
  readonly capacityWindowMs: number;
}

/** The algorithm, or the variant of one, that evaluates a rule. */
type Compiler = Pick<AnyDefinition, 'compile' | 'compileAt' | 'capacity' | 'perProcess'>;

/** Returns the amounts of a checked rule. */
export function amountsOf(quota: Quota, compiler: Compiler): Amounts {
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
export function amountsPerProcess(quota: Quota, compiler: Compiler): (processes: number) => Amounts {
  let last: { readonly processes: number; readonly amounts: Amounts } | undefined;
  return (processes) => {
    if (last?.processes === processes) return last.amounts;
    const limit = perProcess(quota.limit, processes);
    const options = quota.limit === 0 ? {} : compiler.perProcess?.(quota, processes);
    const amounts = amountsOf({ ...quota, ...options, limit }, compiler);
    last = { processes, amounts };
    return amounts;
  };
}

/** The prefetch of a compiled rule. */
export interface CompiledPrefetch {
  readonly permits: number;
  /** How long prefetched permits may be used, in microseconds. */
  readonly ttl: number;
  /** See `AlgorithmDefinition.spendBy`. */
  readonly spendBy: (nth: number, taken: TakenAhead) => number;
}

/** The thresholds of a compiled rule. */
export interface Thresholds extends Pick<Alerts, 'levels' | 'keptFor'> {
  /** Fractions of the limit. */
  readonly at: readonly number[];
}

/** Differences of fractions below this are those of floating-point numbers. */
const TINY = 1e-9;

/** Returns the levels of `Alerts` for a capacity. */
export function levelsOf({ at }: Pick<Thresholds, 'at'>, capacity: number): number[] {
  return at.map((fraction) => (fraction === 1 ? -1 : capacity - Math.ceil(capacity * (fraction - TINY))));
}

/** The values that a request determined for its rule: what its functions returned, or its plan and its exception. */
export type Resolved = Readonly<Record<string, unknown>>;

/** A checked rule, compiled for the stores. */
export interface CompiledRule extends Amounts {
  readonly name: string;
  /** Name of the rule whose trial limit this is; absent if this is no trial limit. */
  readonly trialOf?: string | undefined;
  /** What the request determined; absent if the rule is the same for every request. */
  readonly resolved?: Resolved | undefined;
  readonly algorithm: Algorithm;
  /** What gives the states of the rule their meaning: the end of its keys. See `stateNameOf`. */
  readonly stateName: string;
  /** Returns the amounts of one of a number of processes, which the fallback `'local'` enforces. */
  readonly among: (processes: number) => Amounts;
  /** Returns the parameters of a subject by its text and `subjectNumber`, if all subjects of the rule have one state. */
  readonly bySubject?: ((subject: string, number: number) => Parameters) | undefined;
  readonly cost: number;
  /** What a permit counts; absent for requests. */
  readonly unit?: string | undefined;
  /** Longest wait for permits, in milliseconds; absent without `maxWait`. */
  readonly maxWaitMs?: number | undefined;
  /** Whether the algorithm can allow a request with a delay. */
  readonly queues: boolean;
  /** The prefetch, if the rule has one. */
  readonly prefetch?: CompiledPrefetch | undefined;
  /** How long a denial blocks the subject, in microseconds; 0 if only `block()` does; absent without `block`. */
  readonly block?: number | undefined;
  /** The thresholds, if the rule has `alerts`. */
  readonly thresholds?: Thresholds | undefined;
  readonly shadow: boolean;
  readonly perInstance: boolean;
  /** The fallback of the rule; absent if that of the limiter applies. */
  readonly onStoreError?: OnStoreError | undefined;
  /** When a live change with an end stops to apply, in milliseconds of `performance.now()`; absent if it has none. */
  readonly until?: number | undefined;
  /** The trial limit, if the rule has one. */
  readonly trial?: CompiledRule | undefined;
}

/** The hit of a subject on a rule. */
export interface RuleHit extends Hit {
  readonly rule: CompiledRule;
  readonly subject: Subject;
  /** The route that the counter belongs to; absent if routes share it. */
  readonly route?: string | undefined;
  /** Whether an exception allows all requests of the subject. They are charged nothing. */
  readonly isExempt?: boolean;
  /** How long the request waits for its permits; absent if it does not. */
  readonly wait?: HitWait | undefined;
}

/** How long a request waits. */
export interface HitWait {
  readonly maxWaitMs: number;
  /** Returns a signal that ends the wait. */
  readonly signal: () => AbortSignal | undefined;
  /** Returns the hits that the request would have if it arrived now. */
  readonly current?: (() => MaybePromise<readonly RuleHit[]>) | undefined;
}

/** Permits by the names of rules. */
export type CostByRule<Name extends string = string> = Readonly<Partial<Record<Name, number>>>;

/** Permits of each rule, or permits by the names of rules. */
export type Cost = number | CostByRule;

/** Returns the name of a rule in costs: a trial limit costs what its rule costs. */
export function costName({ name, trialOf = name }: Pick<CompiledRule, 'name' | 'trialOf'>): string {
  return trialOf;
}

/** Returns the permits of a rule; `undefined` if the cost does not name the rule. */
export function costOfRule(cost: Cost | undefined, rule: CompiledRule): number | undefined {
  if (typeof cost !== 'object') return cost;
  const name = costName(rule);
  return Object.hasOwn(cost, name) ? cost[name] : undefined;
}
