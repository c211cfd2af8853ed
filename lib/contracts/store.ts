import type { Algorithm, Parameters, Patience, Receipt, Result } from './algorithm.js';
import type { Clock } from './clock.js';
import type { DecisionSource, Fallback } from './decision.js';
import type { MaybePromise } from './thenable.js';

/** Keys that a call to a store carries at most: those of the counters and blocks of one request. */
export const MOST_KEYS = 100;

/** The counter of one rule and one subject: the key of its state, and the algorithm that decides by it. */
export interface Counter {
  /** Key of the state. */
  readonly key: string;
  /** The algorithm of the rule. */
  readonly algorithm: Algorithm;
  /** The rule as the numbers of its algorithm. */
  readonly parameters: Parameters;
  /** The block of the subject, for a rule that can block. It is read before the algorithm decides. */
  readonly block?: Block | undefined;
}

/** Where and how long a subject is blocked. */
export interface Block {
  /** Key of the block. */
  readonly key: string;
  /** How long a denial blocks, in microseconds; 0 if only programs block. */
  readonly duration: number;
}

/** A request on a counter. */
export interface Hit extends Counter {
  /** Permits that the request takes; 0 takes none. */
  readonly cost: number;
  /** Whether its denial is only reported: it denies and blocks nothing else of its request. */
  readonly shadow?: boolean | undefined;
  /** The name under which the permits are held, for an algorithm with leases. */
  readonly lease?: string | undefined;
}

/** How hits are decided. */
export interface DecideOptions {
  /** Decides without charging anything. */
  readonly dryRun?: boolean;
  /** How long each hit may wait, in microseconds; 0 unless given. */
  readonly patience?: Patience;
  /** A deadline in milliseconds that is shorter than the store's own. */
  readonly within?: number;
  /** Permits that the store charges in place of the cost of the only hit, for later requests. */
  readonly prefetch?: PrefetchRequest;
  /** Why the store is known to be unavailable: the fallback decides at once. */
  readonly unavailable?: unknown;
}

/** Permits that a process takes ahead of requests. They are refunded by their name, once, whatever reply is lost. */
export interface PrefetchRequest {
  /** Permits to take. */
  readonly permits: number;
  /** Unique among all processes. */
  readonly name: string;
  /** How long the store remembers the name, in microseconds. */
  readonly keptFor: number;
}

/** The result for one hit of a request. */
export interface HitResult extends Result {
  /** Source of the result. */
  readonly source: DecisionSource;
  /** The instant of the decision, in microseconds since the epoch; 0 where nothing was counted. */
  readonly now: number;
  /** How the fallback decided, if it did. */
  readonly fallback?: Fallback;
  /** The part of the rule's limit by which a process decided alone. */
  readonly share?: Share;
  /** Why the store could not decide. Without `fallback` the other fields have no meaning. */
  readonly unavailable?: unknown;
}

/** The part of a rule's limit that one of several processes has. */
export interface Share {
  /** The rule's numbers, divided. */
  readonly parameters: Parameters;
  /** The most permits that can be taken at once. */
  readonly capacity: number;
  /** The milliseconds in which the capacity is refilled. */
  readonly capacityWindowMs: number;
}

/** A change of what a counter was charged. */
export interface Adjustment extends Counter {
  /**
   * - `refund`: returns permits
   * - `refund-last`: returns permits if no later request was charged
   * - `renew`: extends a lease
   * - `count`: charges permits whatever the limit, as debt if it must
   */
  readonly kind: 'refund' | 'refund-last' | 'renew' | 'charge';
  /** The permits; those of a lease stay together. */
  readonly cost: number;
  /** The charge to adjust. */
  readonly receipt: Receipt;
  /** A name by which the adjustment is made once, however often it is sent. */
  readonly once?: Once | undefined;
  /** The source of the result that charged the counter. */
  readonly source: DecisionSource;
}

/** The name of prefetched permits that are refunded, or of a charge. */
export interface Once {
  /** Unique among all processes. */
  readonly name: string;
  /** Until when the store remembers it, in microseconds since the epoch; `Infinity` if that is not known. */
  readonly until: number;
}

/** Holds the state of any algorithm and names none. Layers around a store are stores themselves. */
export interface Store<H extends Hit = Hit> {
  /**
   * Decides hits all or nothing: if one is denied, none is charged, and the results of the others are those
   * before the request. Shadow hits are charged with the others if they allow it themselves.
   *
   * @returns one result a hit, in their order; at once if nothing has to be waited for
   * @throws whatever made the store unavailable; where some hits could be decided, the others are `unavailable`
   */
  decide(hits: readonly H[], options: DecideOptions): MaybePromise<readonly HitResult[]>;
  /** Adjusts counters one by one, and returns for each whether there was anything to adjust, if that is known. */
  adjust(
    adjustments: readonly Adjustment[],
    options?: Pick<DecideOptions, 'within'>,
  ): Promise<readonly (boolean | undefined)[]>;
  /** Blocks the subject of a counter that can be blocked, for a number of microseconds from now. */
  block(counter: Counter, duration: number): Promise<void>;
  /** Deletes the state and the blocks of counters, and returns for each whether there was any. */
  reset(counters: readonly Counter[]): Promise<readonly boolean[]>;
  /** Ends what the store or layer started: timers, prefetched permits, connections. */
  close(): Promise<void>;
}

/** Makes a store of another one: adds one capability, and passes the rest on. */
export type Layer<H extends Hit = Hit> = (next: Store<H>) => Store<H>;

/** The innermost store: Redis or memory. */
export interface BaseStore extends Store {
  /** Source of its decisions. */
  readonly source: Exclude<DecisionSource, 'cache' | 'fallback'>;
  /** Milliseconds since the epoch, about the store's time, without a round trip; never used for a decision. */
  readonly clock: Clock;
  /** Milliseconds from any instant; never steps back. */
  readonly stopwatch: Clock;
  /** What a store offers that several processes use; `null` for a store of one process. */
  readonly shared: SharedStore | null;
}

/** What a store offers beside decisions because several processes use it. */
export interface SharedStore {
  /** The milliseconds after which a call is given up. */
  readonly timeout: number;
  /** Reports when a server is given up, when the reason changes, and when it is used again. */
  watch(listener: (change: StoreChange) => void): void;
  /**
   * Reports from now on which counters with a prefix changed in favour of their subject: by a refund, a reset,
   * or a block that begins.
   */
  follow(prefix: string, follower: Follower): void;
  /** Ends what `follow` began. */
  unfollow(prefix: string, follower: Follower): void;
  /** Whether the changes of this counter are reported, where not all counters are on one server. */
  hears(counter: Counter): boolean;
  /** Stores that a process is alive, and returns how many are; 0 if the store is closed. */
  heartbeat(heartbeat: Heartbeat): Promise<number>;
  /**
   * Resolves when the first connection stands or has failed, a second at most, and every server has shown that it
   * can decide such hits, in whatever state their counters are, or is given up. The counters are not changed.
   *
   * @param trial hits of a subject, at least one; all their keys are on one server
   */
  ready(trial: (subject: string) => readonly Hit[]): Promise<void>;
}

/** What a layer needs that caches what several processes share. */
export interface CachingOptions {
  readonly shared: SharedStore;
  /** Milliseconds from any instant. */
  readonly stopwatch: Clock;
  /** The start of the keys whose changes are followed. */
  readonly prefix: string;
}

/** Receives the changes of counters by any process. */
export interface Follower {
  /**
   * Receives the change of one counter.
   *
   * @param isReset whether the counter was reset
   */
  changed(key: string, isReset: boolean): void;
  /** Whether changes are reported from now on. What was known before may have changed unnoticed. */
  trusted(isTrusted: boolean): void;
}

/** States that a process is alive. */
export interface Heartbeat {
  /** Where all processes leave theirs. */
  readonly key: string;
  /** The name of the process. */
  readonly instance: string;
  /** How long it counts, in microseconds; 0 takes it back. */
  readonly duration: number;
}

/** A server of the store that is given up, or now for another reason, or used again. */
export interface StoreChange {
  /** Its address, `''` where there is only one. */
  readonly server: string;
  /** Why it is given up; `undefined` if it is used again. */
  readonly error: unknown;
}
