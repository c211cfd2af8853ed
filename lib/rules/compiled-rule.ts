import type { TakenAhead } from '../algorithms/definition.js';
import type { Algorithm, Parameters } from '../contracts/algorithm.js';
import type { Amounts } from './amounts.js';
import type { OnStoreError } from './on-store-error.js';

/** The prefetch of a compiled rule. */
export interface CompiledPrefetch {
  readonly permits: number;
  /** How long prefetched permits may be used, in microseconds. */
  readonly ttl: number;
  /** See `AlgorithmDefinition.spendBy`. */
  readonly spendBy: (nth: number, taken: TakenAhead) => number;
}

/** The values that a request determined for its rule: what its functions returned, its plan, or its exception. */
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
  /** Longest wait for permits, in milliseconds; absent without `maxWait`. */
  readonly maxWaitMs?: number | undefined;
  /** Whether the algorithm can allow a request with a delay. */
  readonly queues: boolean;
  /** The prefetch, if the rule has one. */
  readonly prefetch?: CompiledPrefetch | undefined;
  /** How long a denial blocks the subject, in microseconds; 0 if only `block()` does; absent without `block`. */
  readonly block?: number | undefined;
  readonly shadow: boolean;
  readonly perInstance: boolean;
  /** The fallback of the rule; absent if that of the limiter applies. */
  readonly onStoreError?: OnStoreError | undefined;
  /** When a live change with an end stops to apply, in milliseconds of `performance.now()`; absent if it has none. */
  readonly until?: number | undefined;
  /** The trial limit, if the rule has one. */
  readonly trial?: CompiledRule | undefined;
}
