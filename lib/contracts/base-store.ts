import type { Clock } from './clock.js';
import type { DecisionSource } from './decision.js';
import type { Counter, Hit, Store } from './store.js';

/** The innermost store: Redis or memory. */
export interface BaseStore extends Store {
  /** Source of its decisions. */
  readonly source: Exclude<DecisionSource, 'cache' | 'fallback'>;
  /** An estimate of the store's time without a round trip, in milliseconds since the epoch. Decisions never use it. */
  readonly clock: Clock;
  /** A monotonic clock: milliseconds since an arbitrary instant. */
  readonly stopwatch: Clock;
  /** Operations of a store that several processes share; `null` for the store of one process, which always decides. */
  readonly shared: SharedStore | null;
  /**
   * Reports the leases that are handed permits while they wait. If a store does not have it, waiting hits are decided
   * again every second.
   *
   * @returns a function that ends the reports
   */
  followGrants?(prefix: string, instance: string, follower: GrantFollower): () => void;
}

/** Receives the turns of leases that wait for permits. */
export interface GrantFollower {
  /** Receives the name of a lease that was handed its permits. */
  came(lease: string): void;
  /** Receives the key of a counter that was deleted, with all leases that waited. */
  cleared(key: string): void;
  /** Receives whether turns are reported from now on. In both cases, earlier ones may have been missed. */
  trusted(isTrusted: boolean): void;
}

/** The additional operations of a store that several processes share. */
export interface SharedStore {
  /** Milliseconds after which a call fails, by `awake`. */
  readonly timeout: number;
  /** A stopwatch in milliseconds, which runs while calls are pending and this process can read their replies. */
  readonly awake: Clock;
  /**
   * Reports when a server becomes unavailable, or is already, when the reason changes, and when it is available again.
   *
   * @returns a function that stops the reports
   */
  watch(listener: (change: StoreChange) => void): () => void;
  /** Whether a server is unavailable, and is being tried at the moment. */
  isProbing?(server: string): boolean;
  /**
   * Starts to report the changes that invalidate cached results of counters with this key prefix: resets, new blocks, and
   * refunds within a second after a denial with `cachesDenials`.
   */
  follow(prefix: string, follower: Follower): void;
  /** Stops the reports that `follow` started. */
  unfollow(prefix: string, follower: Follower): void;
  /** Whether changes of this counter are reported: in a Cluster, this may differ between counters. */
  isFollowed(counter: Counter): boolean;
  /** Records that a process is alive. Returns the number of live processes; 0 if the store is closed. */
  heartbeat(heartbeat: Heartbeat): Promise<number>;
  /** Reports what a heartbeat finds besides the number of processes. Returns a function that ends the reports. */
  watchHeartbeats?(watcher: HeartbeatWatcher): () => void;
  /** Reports with each heartbeat by how many milliseconds the clock of its server is ahead of that of the process. */
  watchClock?(compare: (aheadMs: number) => void): void;
  /**
   * Resolves when the first connection is established or has failed (after a second at most), and every server has
   * either decided such hits or is marked as unavailable. The trial changes no counters.
   *
   * @param trial builds the hits of a subject: at least one, with all keys on one server
   */
  ready(trial: (subject: string) => readonly Hit[]): Promise<void>;
}

/** The options of a layer that caches results of a shared store. */
export interface CachingOptions {
  readonly shared: SharedStore;
  /** A monotonic clock: milliseconds since an arbitrary instant. */
  readonly stopwatch: Clock;
  /** Prefix of the keys whose changes are followed. */
  readonly prefix: string;
}

/** Receives the changes that any process makes to counters. */
export interface Follower {
  /**
   * Receives the change of one counter.
   *
   * @param isReset whether the counter was reset
   */
  changed(key: string, isReset: boolean): void;
  /**
   * Receives whether changes are reported from now on. In both cases, earlier changes may have been missed.
   *
   * @param hasBegun whether reports of a server have begun with this
   */
  trusted(isTrusted: boolean, hasBegun: boolean): void;
}

/** A record that a process is alive. */
export interface Heartbeat {
  /** The key that all processes share. */
  readonly key: string;
  /** The name of the process. */
  readonly instance: string;
  /** The name of the application that the process is part of; absent if it has none. */
  readonly application?: string | undefined;
  /** How long the record is valid, in microseconds; 0 deletes it. */
  readonly duration: number;
}

/** Receives what heartbeats find. */
export interface HeartbeatWatcher {
  /** Receives with each heartbeat the names of all applications whose processes use the same key. */
  foundApplications?(names: readonly string[]): void;
  /** Receives the address of a server that has lost a heartbeat of this process, and so other data; `''` for the only one. */
  lostData?(server: string): void;
}

/** A server of the store that became unavailable, has another reason for it now, or is available again. */
export interface StoreChange {
  /** Its address; `''` if there is only one server. */
  readonly server: string;
  /** Why it is unavailable; `undefined` if it is available again. */
  readonly error: unknown;
}
