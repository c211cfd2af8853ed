import type { RuleDecision } from '../contracts/decision.js';
import type { RuleLoss, SourcedRule } from '../contracts/rule-source.js';

/** Number of seconds that the chart of the application shows, and those of a rule. */
export const CHART_S = 120;
export const RULE_CHART_S = 60;
/** Rates are averages over this number of seconds, including the current one. */
export const RATE_S = 10;

/** Returns the start of the first second of a chart, in milliseconds since the epoch. The last one is the current second. */
export function chartStart(now: number, length: number): number {
  return (Math.floor(now / 1000) + 1 - length) * 1000;
}

/** What the operations page shows: the state of rate limiting in all processes. */
export interface Snapshot {
  /** When it was made, in milliseconds since the epoch. */
  readonly at: number;
  /** `'redis'`: all processes; `'memory'`: this process, because limits are counted in its memory. */
  readonly from: 'redis' | 'memory';
  /** What is wrong in any process, the same once, and the processes by host and process id; none if it concerns all. */
  readonly problems: readonly { readonly text: string; readonly processes: readonly string[] }[];
  /** Until when the figures are of all processes, in milliseconds since the epoch; `null`: of now. Later ones are of one. */
  readonly allUntil: number | null;
  /** Whether the page can change nothing. */
  readonly readOnly: boolean;
  /** Whether users can have the right to see subjects unmasked. */
  readonly unmask: boolean;
  /** Whether rules can be changed: the module has a source in `liveRules` that can be written. */
  readonly live: boolean;
  /** The live rules that were lost; `null` if the source holds those in force. */
  readonly loss: SnapshotLoss | null;
  /** Number of processes that share the limits, by the last heartbeat. */
  readonly alive: number;
  /** The processes that report, and those that are silent for less than some minutes. */
  readonly processes: readonly SnapshotProcess[];
  /** Requests of all rules, for those of the last 120 seconds that have any, the oldest first. */
  readonly seconds: readonly SnapshotSecond[];
  /** The times without a report of any process, in milliseconds since the epoch. */
  readonly gaps: readonly (readonly [from: number, until: number])[];
  /** Requests of all rules in the known minutes of the last hour, and how many the fallback decided, the oldest first. */
  readonly minutes: readonly (SnapshotSecond & { readonly fallback: number })[];
  /** Duration of decisions in the last 10 seconds, in milliseconds; `null` without decisions. */
  readonly latency: { readonly p50: number; readonly p99: number } | null;
  /** Share of each source, such as cached denials and prefetched permits, in the decisions of the last 10 seconds: from 0 to 1, with the sum 1, or all 0. */
  readonly shares: Readonly<Record<'store' | 'cache' | 'prefetched' | 'fallback', number>>;
  /** The servers of the store, each with the worst state of its circuit breaker in any process. */
  readonly servers: readonly { readonly server: string; readonly state: BreakerState }[];
  /** The rules by name. */
  readonly rules: readonly SnapshotRule[];
  /** The buttons of the application. */
  readonly actions: readonly { readonly id: string; readonly label: string }[];
}

/** Live rules that were lost: those in force stay until an operator restores them, or accepts those in the source. */
export interface SnapshotLoss extends Pick<RuleLoss, 'at' | 'reason'> {
  readonly inForce: readonly SnapshotLive[];
  readonly stored: readonly SnapshotLive[];
}

/** A subject as the page shows it, and as it names the subject in requests. */
export interface NamedSubject {
  /** Encrypts the subject and its rule. */
  readonly id: string;
  /** The subject, masked. */
  readonly subject: string;
}

/** A block of a subject under a rule, or an exception; without an author if a denial began the block. */
export interface Restriction extends Pick<SnapshotChange, 'by' | 'reason' | 'at'> {
  readonly rule: string;
  readonly subject: NamedSubject;
  /** What the exception does; absent for a block. */
  readonly exception?: unknown;
  /** Milliseconds until it ends; `null` if it stays. */
  readonly endsInMs: number | null;
}

type FoundFigures = Pick<RuleDecision, 'allowed' | 'limit' | 'remaining' | 'resetAfterMs' | 'retryAfterMs'>;

/** What a rule has decided for a subject. */
export interface FoundRule {
  readonly rule: string;
  /** The route of the counter; `null` if routes share it. */
  readonly route: string | null;
  readonly subject: NamedSubject;
  /** What the rule would decide now; `null` if that depends on the request, or Redis cannot decide. */
  readonly figures: FoundFigures | null;
  /** The highest of its `alerts` that the subject is above. */
  readonly threshold: number | null;
}

/** A subject that was looked for, or all subjects that are restricted or above a threshold. */
export interface FoundSubject {
  /** The rules that have counted it, or that treat it in another way than others; of all subjects, those above a threshold. */
  readonly rules: readonly FoundRule[];
  /** Number of the other rules that can count it, and have not. */
  readonly unused: number;
  /** What is missing, and why. */
  readonly problem?: string;
  readonly restrictions: readonly Restriction[];
}

/** A live change of a rule, or an exception. */
export interface SnapshotLive {
  readonly rule: string;
  /** The subject of an exception. */
  readonly subject?: NamedSubject;
  /** The fields that are or were set; absent of a change that was removed. */
  readonly fields?: unknown;
}

/** The requests of one second, or of one minute. */
export interface SnapshotSecond {
  /** Its start, in milliseconds since the epoch. */
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
}

/** A rule: its fields in this process, and its results in all processes. */
export interface SnapshotRule {
  readonly rule: string;
  /** The handlers that it applies to, such as `LoginController.login`. */
  readonly routes: readonly string[];
  /** Its fields; of routes with different fields, those of the first. */
  readonly fields: readonly SnapshotField[];
  /** Whether a live change can set fields of the rule. */
  readonly editable: boolean;
  /** Why changes of the rule have no preview, as a sentence; `null` if they have one. */
  readonly noPreview: string | null;
  readonly shadow: boolean;
  /** The live change of the rule; `null` without one. */
  readonly change: SnapshotChange | null;
  /** Number of subjects with a live exception. */
  readonly exceptions: number;
  /** Allowed requests per second, the mean of the last 10 seconds. */
  readonly allowed: number;
  /** Denied requests per second, the mean of the last 10 seconds. */
  readonly denied: number;
  /** Requests per second that the rule would have denied without shadow mode, the mean of the last 10 seconds. */
  readonly wouldDeny: number;
  /** Requests per second that its trial limit would have denied, the mean of the last 10 seconds. */
  readonly trialDeny: number;
  /** Its requests, for those of the last 60 seconds that have any, the oldest first. */
  readonly seconds: readonly SnapshotSecond[];
  /** Its requests, for the known minutes of the last hour that have any, the oldest first. */
  readonly minutes: readonly SnapshotSecond[];
  /** Requests per second by handler, the mean of the last 10 seconds. */
  readonly byRoute: readonly { readonly route: string; readonly allowed: number; readonly denied: number }[];
  /** The subjects with the most denied requests of the last 5 to 10 minutes, the most first: at most 10. */
  readonly top: readonly SnapshotSubject[];
}

/** A field of a rule. */
export interface SnapshotField {
  readonly name: string;
  /** Text as it is, other values as JSON, a function as `function`. */
  readonly value: string;
  /** Whether another route has another value. */
  readonly differs: boolean;
  /** Where the value comes from, such as `@RateLimit on LoginController.login`. */
  readonly from: string;
  /** Whether a live change has set it. */
  readonly live: boolean;
  /** Whether a live change can set it. */
  readonly editable: boolean;
}

/** The live change of a rule: `at` is in milliseconds since the epoch. */
export interface SnapshotChange extends Pick<SourcedRule, 'by' | 'reason' | 'at' | 'expiresInMs'> {
  /** The version to state with the next change. */
  readonly version: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A subject with denied requests. */
export interface SnapshotSubject extends NamedSubject {
  /** Denied requests: at most this number, and at least this number without `error`. */
  readonly denied: number;
  readonly error: number;
  /** Permits that it has left; `null` if they are unknown, such as while Redis cannot decide, or depend on the request. */
  readonly remaining: number | null;
  /** Whether it is blocked, or an exception denies it. */
  readonly isBlocked: boolean;
}

/** The effect of fields on the requests of the last ten minutes. */
export interface Preview {
  /** Requests that were replayed. */
  readonly requests: number;
  readonly subjects: number;
  /** How many of the requests were denied. */
  readonly deniedRecorded: number;
  /** How many of the requests the rule denies in the replay, with its current fields and with the new ones. */
  readonly deniedNow: number;
  readonly deniedThen: number;
  /**
   * Requests that were denied, and would have been allowed, of a rule with `count` or of one whose permits are held. Their
   * response is unknown, and they are assumed to count; or they are assumed to hold their permits for `assumedHoldMs`.
   */
  readonly assumed: number;
  /** The mean time in milliseconds for which the other requests held their permits; `null` if none has released any. */
  readonly assumedHoldMs: number | null;
  /** Seconds from the first of the requests until now. */
  readonly seconds: number;
  /** Share of the subjects whose requests were replayed: 1 if all were. */
  readonly sampled: number;
}

/** A change in the history of a rule. */
export interface HistoryEntry
  extends SnapshotLive, Pick<SnapshotChange, 'version' | 'reason' | 'expiresInMs'> {
  /** What was in force before: `null` for the rule in the code; absent if that is unknown. */
  readonly before?: unknown;
  /** Whether it is the last change of its rule or exception, and still has an effect. */
  readonly canUndo: boolean;
  /** How a loss of all live rules was ended. */
  readonly loss?: 'restored' | 'accepted';
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** `'open'`: the fallback decides; `'half-open'`: it does so, and the server is being tried. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** A process that applies the rules. */
export interface SnapshotProcess {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When it started, in milliseconds since the epoch. */
  readonly since: number;
  /** Version of this package. */
  readonly version: string;
  /** The worst state of its circuit breakers; `null` without Redis. */
  readonly circuit: BreakerState | null;
  /** Share of the fallback in its decisions of the last 10 seconds, from 0 to 1. */
  readonly fallback: number;
  /** Version of the live rules in force; empty without any. */
  readonly liveRules: string;
  /** When it reported last, in milliseconds since the epoch; `null` if it still reports. */
  readonly silentSince: number | null;
}
