import type { Algorithm, Parameters, MaxWait, Receipt, Result } from './algorithm.js';
import type { DecisionSource, Fallback } from './decision.js';
import type { MaybePromise } from './thenable.js';

/** Maximum number of keys in a call to a store: those of the counters and blocks of one request. */
export const MOST_KEYS = 100;

/** The counter of one rule for one subject: the key of its state, and the algorithm that reads it. */
export interface Counter {
  /** Key of the state. */
  readonly key: string;
  /** The algorithm of the rule. */
  readonly algorithm: Algorithm;
  /** The rule's parameters for its algorithm. */
  readonly parameters: Parameters;
  /** The block of the subject, for a rule that can block. It is read before the algorithm decides. */
  readonly block?: Block | undefined;
  /** The thresholds of the rule, if it has any. The store reports each crossing once for all processes. */
  readonly alerts?: Alerts | undefined;
  /** The entry in which a map of the process last found the key. A map checks that it holds it. */
  entry?: object | undefined;
}

/** Thresholds of a counter, which are reported when a charge crosses them. */
export interface Alerts {
  /** The most permits that are left when each threshold is crossed; -1 if these are fewer than the cost of the charge. */
  readonly levels: readonly number[];
  /** How long a crossing is not reported again, in microseconds; 0 until the full limit is available. */
  readonly keptFor: number;
  /** Receives the index of a threshold that was crossed, and the permits that are left. */
  readonly crossed: (index: number, remaining: number) => void;
}

/** The block of a subject: its key and its duration. */
export interface Block {
  /** Key of the block. */
  readonly key: string;
  /** How long a denial blocks the subject, in microseconds; 0 if only `block()` does. */
  readonly duration: number;
  /** As that of the counter. */
  entry?: object | undefined;
}

/** A request on a counter. */
export interface Hit extends Counter {
  /** Permits that the request takes; 0 takes none. */
  readonly cost: number;
  /** Whether a denial of this hit is only reported and does not deny the request. */
  readonly shadow?: boolean | undefined;
  /** The name under which the permits are held, for an algorithm with leases. */
  readonly lease?: string | undefined;
  /**
   * Whether a lease waits for permits that others hold. A result with a delay means that it is in the queue:
   * the same hit is decided again after the delay, or earlier.
   */
  readonly waits?: boolean | undefined;
}

/** Options of a decision. */
export interface DecideOptions {
  /** Decides without charging anything, and stores nothing. The results are those before the request. */
  readonly dryRun?: boolean;
  /** Whether the results of a dry run are those of the request: what it would leave, and what it would wait. */
  readonly peek?: boolean;
  /**
   * How long each hit may wait, in microseconds.
   *
   * @default 0
   */
  readonly maxWait?: MaxWait;
  /** Deadline in milliseconds, shorter than the store's own. */
  readonly within?: number;
  /** Permits that the store charges ahead of requests, instead of the cost of the only hit. */
  readonly prefetch?: PrefetchRequest;
  /**
   * Whether the process caches a denial of one permit, for a second at most: a shared store must report refunds meanwhile.
   *
   * @default false
   */
  readonly cachesDenials?: boolean;
  /** Why the store is already known to be unavailable, so that the fallback decides at once. */
  readonly unavailable?: unknown;
}

/** Permits that a process takes ahead of requests. They are refunded by name, at most once even if a reply is lost. */
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
  /**
   * When the permits were charged, in microseconds since the epoch: a charge from before a reset is not refunded.
   *
   * @default now
   */
  readonly chargedAt?: number;
  /** How long the subject is still blocked, in microseconds; absent if it is not. */
  readonly blockedFor?: number;
  /** The fallback that decided, if one did. */
  readonly fallback?: Fallback;
  /** What was applied instead of the rule's limit, if the process decided alone. */
  readonly local?: LocalLimit;
  /** Why the store could not decide. Without `fallback` the other fields have no meaning. */
  readonly unavailable?: unknown;
}

/** The part of a rule's limit that one process allows alone. */
export interface LocalLimit {
  /** The rule's parameters, divided by the number of processes. */
  readonly parameters: Parameters;
  /** The most permits that can be taken at once. */
  readonly capacity: number;
  /** Milliseconds in which the capacity is refilled. */
  readonly capacityWindowMs: number;
}

/** A change of a counter's charges. */
export interface Adjustment extends Counter {
  /**
   * - `refund`: returns permits
   * - `refund-last`: returns permits if no later request was charged
   * - `renew`: extends a lease
   * - `charge`: charges permits regardless of the limit, as debt if necessary
   */
  readonly kind: 'refund' | 'refund-last' | 'renew' | 'charge';
  /** Number of permits; ignored for a lease, which is refunded as a whole. */
  readonly cost: number;
  /** The charge to adjust. */
  readonly receipt: Receipt;
  /** When the charge was made, in microseconds since the epoch: a charge from before a reset is not refunded. */
  readonly chargedAt: number;
  /** Makes the adjustment idempotent: it takes effect once, even if it is sent several times. */
  readonly once?: Once | undefined;
  /** The source of the result that charged the counter. */
  readonly source: DecisionSource;
  /** Receives the permits that are left after a `charge`, also after one that was repeated. */
  readonly left?: ((remaining: number) => void) | undefined;
}

/** The name that makes an adjustment idempotent: that of prefetched permits, or of a charge. */
export interface Once {
  /** Unique among all processes. */
  readonly name: string;
  /** When the store forgets the name, in microseconds since the epoch; `Infinity` if that is unknown. */
  readonly until: number;
}

/** Holds the state of any algorithm without depending on one. A layer around a store is a store itself. */
export interface Store<H extends Hit = Hit> {
  /**
   * Decides the hits of a request, all or nothing: if one is denied, none is charged, and the results of the allowed
   * ones describe the state before the request. The denial of a shadow hit does not count as one.
   *
   * @returns one result per hit, in the same order; a promise only if the store has to wait for I/O
   * @throws the reason why the store is unavailable, unless some hits were decided: then the other results are
   * `unavailable`
   */
  decide(hits: readonly H[], options: DecideOptions): MaybePromise<readonly HitResult[]>;
  /**
   * Adjusts counters, independently of each other. Returns for each whether there was a charge to adjust;
   * `undefined` if that is unknown.
   */
  adjust(
    adjustments: readonly Adjustment[],
    options?: Pick<DecideOptions, 'within'>,
  ): Promise<readonly (boolean | undefined)[]>;
  /**
   * Blocks the subject of a counter with `block`, for a duration in microseconds from now; 0 ends its block. Returns whether
   * it was blocked before.
   */
  block(counter: Counter, duration: number): Promise<boolean>;
  /**
   * Deletes the states and blocks of counters. Returns for each whether it had any. Earlier charges can no longer be
   * refunded.
   */
  reset(counters: readonly Counter[]): Promise<readonly boolean[]>;
  /** Releases what the store or layer holds: timers, connections, unused prefetched permits. */
  close(): Promise<void>;
}

/** Whether the results of a request's hits deny it: shadow hits do not. */
export function isDenied(hits: readonly Hit[], results: readonly Pick<HitResult, 'allowed'>[]): boolean {
  for (let index = 0; index < hits.length; index += 1) {
    if (!results[index]!.allowed && !hits[index]!.shadow) return true;
  }
  return false;
}

/** Builds the adjustment of a hit's charge. */
export function adjustmentOf(hit: Hit, result: HitResult, kind: Adjustment['kind']): Adjustment {
  const { key, algorithm, block, cost } = hit;
  const { now, resetAfter, source, local, chargedAt = now } = result;
  const parameters = local?.parameters ?? hit.parameters;
  const receipt = hit.lease ?? now + resetAfter;
  const alerts = local ? undefined : hit.alerts; // Levels of the whole limit.
  return { key, algorithm, block, alerts, cost, parameters, kind, receipt, chargedAt, source };
}

/** Whether an adjustment has no effect once its counter was reset. A lease needs no such check: its name is deleted. */
export function endsWithReset({ kind, algorithm }: Adjustment): boolean {
  return !algorithm.leases && (kind === 'refund' || kind === 'refund-last');
}
