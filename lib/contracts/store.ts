import type { Algorithm, Parameters, Patience, Receipt, Verdict } from './algorithm.js';
import type { Clock } from './clock.js';
import type { DecisionSource } from './decision.js';

/** One rule of one subject: where its state is, and by what it is decided. */
export interface Counter {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly parameters: Parameters;
  /**
   * Where a block of the subject is noted, for a rule that can block: asked before the algorithm, and
   * written when the algorithm denies.
   */
  readonly block?: Block | undefined;
}

export interface Block {
  readonly key: string;
  /** How long a denial blocks, in microseconds; 0 if only programs do. */
  readonly duration: number;
}

/** A hit on a counter. */
export interface Hit extends Counter {
  readonly cost: number;
  /** Decides for itself and neither denies nor blocks the others of its request. */
  readonly observe?: boolean | undefined;
  /** The name of the lease, for an algorithm that has them. */
  readonly lease?: string | undefined;
}

/** How a request is asked about. */
export interface Ask {
  /** Decide as if, and charge nothing. */
  readonly dryRun?: boolean;
  /** How long each hit may wait. */
  readonly patience?: Patience;
}

/** The verdicts of a request, one a hit, in their order. */
export interface Outcome {
  readonly verdicts: readonly Verdict[];
  /** The instant at which it was decided, in microseconds since the epoch. */
  readonly now: number;
}

/** A change to what a counter has been charged. */
export interface Amendment extends Counter {
  readonly kind: 'refund' | 'refund-last' | 'renew';
  readonly cost: number;
  readonly receipt: Receipt;
}

/** Holds the state of any algorithm and names none. */
export interface Store {
  /** Where its decisions come from. */
  readonly source: DecisionSource;
  /**
   * About what time it is for the store, asked without a round trip. It may be wrong by what clocks of
   * machines differ: what is decided goes by the store's own time.
   */
  readonly clock: Clock;
  /**
   * Decides hits all or nothing: if one is denied, none is charged, and the figures of the others
   * are those before the hit. Observed hits are charged with the others if they allow it themselves.
   */
  decide(hits: readonly Hit[], ask: Ask): Promise<Outcome> | Outcome;
  /** Amends counters one by one, and says of each whether there was anything to amend. */
  amend(amendments: readonly Amendment[]): Promise<readonly boolean[]>;
  /** Blocks a counter's subject for so many microseconds from now. */
  block(block: Block): Promise<void>;
  /** Forgets keys, so that the next hit finds them fresh. */
  reset(keys: readonly string[]): Promise<void>;
  /** Closes what the store opened, and nothing else. */
  close(): Promise<void>;
}
