import type { DecisionSource, RuleDecision } from '../contracts/decision.js';
import type { SourcedRule } from '../contracts/rule-source.js';

/** Why a request was denied, and what was recorded of its subjects before. */
export interface Explanation<Subject> {
  /** The id of the denial, without `#`. */
  readonly id: string;
  /** What is unknown and why, as a sentence; absent if nothing is missing. */
  readonly problem?: string;
  /** When the request was denied, in milliseconds since the epoch; absent if that is unknown. */
  readonly at?: number;
  /** The process that denied it; absent if that is unknown. */
  readonly process?: { readonly host: string; readonly pid: number };
  /** The result of each rule of the request; none if the denial is unknown. */
  readonly rules: readonly (RuleDecision & {
    /** What decided: a store, the cache of the process, or the fallback. */
    readonly source: DecisionSource;
    /** The subject; `''` for a request that was denied without being counted. */
    readonly subject: Subject;
    /** The route of the counter; absent if routes share it. */
    readonly route?: string;
    /** Permits that the request would have taken. */
    readonly cost: number;
    /** The live change of the rule that was in force; absent without one. */
    readonly change?: SourcedRule;
    /** The live exception of the subject that was in force; absent without one. */
    readonly exception?: SourcedRule;
    /** The requests of the subject under this rule that all processes recorded before; absent if the rule did not deny. */
    readonly recorded?: {
      /** Share of the subjects whose requests of the last ten minutes are all recorded, such as 1/16. */
      readonly share: number;
      /** Whether the subject is among them. Otherwise, each process recorded its requests from the first that it denied. */
      readonly isWhole: boolean;
      /** The oldest first: one request, or several denied ones within a second. */
      readonly requests: readonly {
        /** Milliseconds since the epoch. */
        readonly at: number;
        readonly outcome: 'allowed' | 'denied';
        /** Number of the requests. */
        readonly count: number;
      }[];
    };
  })[];
}

/** What one rule decided for a denied request. */
export type ExplainedRule<Subject> = Explanation<Subject>['rules'][number];

/** The requests of a subject that were recorded. */
export type RecordedRequests = NonNullable<ExplainedRule<unknown>['recorded']>;
