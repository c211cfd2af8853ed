import type { TakenAhead } from '../algorithms/definition.js';
import type { Algorithm } from '../contracts/algorithm.js';
import type { Amounts } from './amounts.js';
import type { OnStoreError } from './on-store-error.js';

/** Permits that a process takes ahead. */
export interface CompiledPrefetch {
  readonly permits: number;
  /** How long they are kept, in microseconds. */
  readonly ttl: number;
  /** See `AlgorithmDefinition.spendBy`. */
  readonly spendBy: (nth: number, taken: TakenAhead) => number;
}

/** A rule made ready for a store, once. */
export interface CompiledRule extends Amounts {
  readonly name: string;
  /** The rule whose trial limit it is; absent if it is none. */
  readonly trialOf?: string | undefined;
  readonly algorithm: Algorithm;
  /** The share of one of so many processes, which counts in its memory while the store cannot decide. */
  readonly among: (processes: number) => Amounts;
  readonly cost: number;
  /** Whether it can say how long a hit has to wait for its place. */
  readonly queues: boolean;
  /** Permits that a process takes ahead, if it does. */
  readonly prefetch?: CompiledPrefetch | undefined;
  /** How long a denial blocks, in microseconds; 0 if only programs block, absent if nothing does. */
  readonly block?: number | undefined;
  readonly shadow: boolean;
  readonly perInstance: boolean;
  /** Absent if it is the limiter's. */
  readonly onStoreError?: OnStoreError | undefined;
  /** Another limit that is watched beside it. */
  readonly trial?: CompiledRule | undefined;
}
