import type { Algorithm, Parameters, Verdict } from './algorithm.js';
import type { DecisionSource } from './decision.js';

/** One rule asked about one subject. */
export interface Hit {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly parameters: Parameters;
  readonly cost: number;
}

/** Holds the state of any algorithm and names none. */
export interface Store {
  /** Where its decisions come from. */
  readonly source: DecisionSource;
  /**
   * Decides hits all or nothing: if one is denied, none is charged, and the figures of the others
   * are those before the hit.
   *
   * @param dryRun decide as if, and charge nothing
   * @returns one verdict a hit, in their order
   */
  decide(hits: readonly Hit[], dryRun: boolean): Promise<readonly Verdict[]> | readonly Verdict[];
  /** Forgets keys, so that the next hit finds them fresh. */
  reset(keys: readonly string[]): Promise<void>;
  /** Closes what the store opened, and nothing else. */
  close(): Promise<void>;
}
