import type { Algorithm, Parameters, Patience, Receipt, Verdict } from './algorithm.js';
import type { Clock } from './clock.js';
import type { DecisionSource } from './decision.js';

/** Keys that a call to a store carries at most: those of the counters and blocks of one request. */
export const MOST_KEYS = 100;

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
  /** Milliseconds after which to give up, if that is sooner than the store would by itself. */
  readonly within?: number;
  /** The permits are taken for requests to come: they are refunded if the reply is late or lost. */
  readonly takesAhead?: Take;
}

/** Permits taken ahead, by a name: whatever becomes of the reply, they can be refunded once. */
export interface Take {
  /** No other take of any process has it. */
  readonly name: string;
  /** How long the permits may be used, in microseconds. */
  readonly ttl: number;
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
  /** Permits to give back; those of a lease stay together. */
  readonly cost: number;
  readonly receipt: Receipt;
}

/** Who wants to know of changes to counters by anybody. */
export interface Follower {
  /** @param isReset whether the counter is as if nobody had ever come */
  changed(key: string, isReset: boolean): void;
  /** Whether changes are told from now on. What was known before may have changed unnoticed. */
  trusted(isTrusted: boolean): void;
}

/** A sign of life. */
export interface Heartbeat {
  /** Where all processes leave theirs. */
  readonly key: string;
  /** The process. */
  readonly instance: string;
  /** How long it counts, in microseconds; 0 takes it back. */
  readonly duration: number;
}

/** A server of the store that has stopped answering, or answers again. */
export interface StoreChange {
  /** Its address, `''` where there is only one. */
  readonly server: string;
  /** Why it is not asked any more; `undefined` if it is asked again. */
  readonly error: unknown;
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
  /**
   * Parts hits that no one server holds all of; each part is decided by a call of its own. Absent, or
   * one part: they are decided together.
   */
  partition?(hits: readonly Hit[]): readonly (readonly Hit[])[];
  /** Amends counters one by one, and says of each whether there was anything to amend. */
  amend(amendments: readonly Amendment[], ask?: Pick<Ask, 'within'>): Promise<readonly boolean[]>;
  /** Blocks the subject of a counter that has a block, for so many microseconds from now. */
  block(counter: Counter, duration: number): Promise<void>;
  /**
   * Forgets counters and their blocks, so that the next hit finds them fresh, and returns for each whether it
   * had any state.
   */
  reset(counters: readonly Counter[]): Promise<readonly boolean[]>;
  /** The milliseconds after which it gives up; absent if it always answers. */
  readonly timeout?: number;
  /** Tells when a server is not asked any more, and when it is again. */
  watch?(listener: (change: StoreChange) => void): void;
  /**
   * Tells from now on which counters with a prefix have changed in the favour of who was denied: by a refund,
   * a reset, or a block that begins. Absent, or never `trusted`: it cannot tell.
   */
  follow?(prefix: string, follower: Follower): void;
  unfollow?(prefix: string, follower: Follower): void;
  /** Whether every change of this counter is told, where not all counters are on one server. */
  hears?(counter: Counter): boolean;
  /** Tells how much time goes by, in milliseconds from any instant, and never steps; `performance.now` unless given. */
  readonly stopwatch?: Clock;
  /**
   * Notes that a process is alive, and returns how many are; 0 if the store is closed. Absent if no other
   * process can share the store.
   */
  heartbeat?(heartbeat: Heartbeat): Promise<number>;
  /**
   * Resolves when the first connection stands or has failed, a second at most, and every server has decided a
   * hit or is given up.
   *
   * @param trial a hit of a subject, whose counter no other has
   */
  ready?(trial?: (subject: string) => Hit): Promise<void>;
  /** Closes what the store opened, and nothing else. */
  close(): Promise<void>;
}
