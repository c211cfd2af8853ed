import type { RuleHit } from '../../rules/rule-hit.js';
import type { CountWhen } from '../rules/route-rule.js';
import type { Exchange } from './exchange.js';

/** A rule on a route, or what stands for rules that are wrong. */
export interface AppliedLimit {
  readonly name: string;
  /** The names of its results: its own, and that of its trial limit. */
  readonly names: readonly string[];
  /** What messages call the rule. */
  readonly path: string;
  /** The checks of requests that have something left to find out. */
  readonly checks: Set<Check>;
  /** Whether its permits are held until the response is over. */
  readonly isHeld: boolean;
  /** Requests that count: all, or by their response. */
  readonly count: CountWhen;
  /** What the rule makes of a request; a promise only if something in the rule is asynchronous. */
  apply(exchange: Exchange): Applied | Promise<Applied>;
}

/**
 * Why a request is refused without being counted: it has no subject, a rule has no valid limit, its framework sees no
 * IP address, or its client has hung up.
 */
export interface Refusal {
  readonly rule: string;
  readonly reason: 'no-subject' | 'no-limit' | 'no-address' | 'hung-up';
}

/** What a rule makes of a request: its hits, none if it does not apply, or why it refuses the request. */
export type Applied = readonly RuleHit[] | Refusal;

/** Looks for signs of a wrong setup in the requests of a rule. */
export interface Check {
  /** Looks at one request. Returns whether nothing is left to find out. */
  see(exchange: Exchange, limit: AppliedLimit): boolean;
}
