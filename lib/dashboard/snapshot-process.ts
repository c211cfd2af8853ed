/** `'open'`: the fallback decides; `'half-open'`: it does so, and the server is being tried. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** What is wrong in processes. */
export interface SnapshotProblem {
  readonly text: string;
  /** The processes by host and process id; none if it concerns all. */
  readonly processes: readonly string[];
}

/** A process that applies the rules. */
export interface SnapshotProcess {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When it started, in milliseconds since the epoch. */
  readonly since: number;
  /** Version of this package; `null` of one that does not report it. */
  readonly version: string | null;
  /** The worst state of its circuit breakers; `null` without Redis. */
  readonly circuit: BreakerState | null;
  /** Share of the fallback in its decisions of the last 10 seconds, from 0 to 1. */
  readonly fallback: number;
  /** Version of the live rules in force; empty without any. */
  readonly liveRules: string;
  /** When it reported last, in milliseconds since the epoch; `null` if it still reports. */
  readonly silentSince: number | null;
}
