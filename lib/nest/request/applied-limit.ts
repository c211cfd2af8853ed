import type { RuleHit } from '../../rules/compiled-rule.js';
import type { CountWhen } from '../rules/route-rule.js';
import type { Exchange } from './exchange.js';

/** A rule on a route, or a placeholder for invalid rules. */
export interface AppliedLimit {
  readonly name: string;
  /** The names of its results: that of the rule, and that of its trial limit. */
  readonly names: readonly string[];
  /** The name of the rule in messages. */
  readonly path: string;
  /** The checks that are not finished. */
  readonly checks: Set<Check>;
  /** Whether its permits are held until the response has ended. */
  readonly isHeld: boolean;
  /** Requests that count: all, or by their response. */
  readonly count: CountWhen;
  /** Whether a decorator names the rule, on the handler or its class. */
  readonly isNamed: boolean;
  /** Applies the rule to a request. Asynchronous only if a function of the rule is. */
  apply(exchange: Exchange): Applied | Promise<Applied>;
}

/**
 * Why a request is denied without being counted: it has no subject, a rule has no valid limit, the framework reports no
 * IP address, or the client has disconnected.
 */
export interface Refusal {
  readonly rule: string;
  readonly reason: 'no-subject' | 'no-limit' | 'no-address' | 'hung-up';
}

/** The result of applying a rule to a request: its hits (none if the rule does not apply), or a refusal. */
export type Applied = readonly RuleHit[] | Refusal;

/** Headers that a check waits for. */
export interface AwaitedHeaders {
  /** Their names in lower case. */
  readonly names: readonly string[];
  /** How many more HTTP requests without any of them the check need not see. */
  patience: number;
}

/** Checks the requests of a rule for signs of a wrong setup. */
export interface Check {
  /** Absent if the check has to see every request. */
  readonly awaited?: AwaitedHeaders | undefined;
  /** Checks a request. Returns whether the check is finished. */
  see(exchange: Exchange, limit: AppliedLimit): boolean;
}
