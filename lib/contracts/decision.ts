import type { SharePart } from './algorithm.js';
import { isFields } from './fields.js';
import { rejectValue } from './rate-limit-config.error.js';

/** The `retryAfterMs` of a request that was denied without being counted. */
export const UNCOUNTED_RETRY_MS = 1000;

/** The result of one rule for a request. */
export interface RuleDecision {
  /** Whether the rule allows the request. */
  readonly allowed: boolean;
  /** Name of the rule. */
  readonly rule: string;
  /** Most permits that can be taken at once: the rule's `burst` if it has one, otherwise its `limit`. */
  readonly limit: number;
  /** Milliseconds in which `limit` permits become available: the `window` of a rule without `burst`. */
  readonly windowMs: number;
  /** Permits left after the request. */
  readonly remaining: number;
  /**
   * Milliseconds until the same request would be allowed if no other request arrives, rounded up: 0 if it is allowed,
   * `null` if it never would be.
   */
  readonly retryAfterMs: number | null;
  /** Milliseconds until the full limit is available if no other request arrives, rounded up. */
  readonly resetAfterMs: number;
  /** Milliseconds until one permit is available, rounded up. Present if the request was charged and none remains. */
  readonly nextPermitMs?: number;
  /** Milliseconds by which the caller has to delay an allowed request (`leaky-bucket`). */
  readonly delayMs: number;
  /** The part of the subject in the limit of a rule with `share`. */
  readonly share?: SharePart;
  /** What a permit counts, if the rule states it. */
  readonly unit?: string;
  /** `true` for a rule in `mode: 'shadow'` and for a trial limit: reported and not enforced. */
  readonly shadow?: boolean;
  /** Source of this result, if the results of the request have different sources. */
  readonly source?: DecisionSource;
  /** The fallback that decided, if the source is `'fallback'`. */
  readonly fallback?: Fallback | undefined;
}

/**
 * Source of a decision: a store (`'redis'`, `'memory'`), the process (`'cache'`: a cached denial or a prefetched
 * permit), or the fallback while Redis cannot decide.
 */
export type DecisionSource = 'redis' | 'memory' | 'cache' | 'fallback';

/**
 * The fallback that decided: `'local'` counted in the memory of the process, with its share of the limit; `'allow'`
 * and `'deny'` did not count, so that the other fields of the result have no meaning.
 */
export type Fallback = 'local' | 'allow' | 'deny';

/** The decision for a request: the result of the strictest rule, and the results of all rules. */
export interface Decision extends RuleDecision {
  /** Source of the strictest result. */
  readonly source: DecisionSource;
  /** One result per rule, in the order of the rules. */
  readonly decisions: readonly RuleDecision[];
  /** Of a denial: 12 characters that name it, for `explain`. They say nothing about the request. */
  readonly id?: string | undefined;
}

/** @throws RateLimitConfigError if the value is not a decision, whatever its type states */
export function checkDecision(value: unknown): Decision {
  if (isFields(value) && Array.isArray(value['decisions'])) return value as unknown as Decision;
  const isPart = isFields(value) && isFields(value['decision']);
  const allowed = 'a decision as `consume` returns it';
  rejectValue('decision', value, allowed, isPart ? 'write its field `decision`' : undefined);
}

/**
 * Compares two results for sorting, strictest first: enforced rules before shadow rules, then denied before allowed.
 * Denied results are sorted by the longest wait; allowed results by the fewest remaining permits, then by the longest
 * time until the full limit is available. Results that the fallback allowed without counting are last among the
 * allowed.
 */
export function compareStrictness(a: RuleDecision, b: RuleDecision): number {
  if (a.shadow !== b.shadow) return a.shadow ? 1 : -1;
  if (a.allowed !== b.allowed) return a.allowed ? 1 : -1;
  if (!a.allowed) return waitOf(b) - waitOf(a) || 0;
  if (hasFigures(a) !== hasFigures(b)) return hasFigures(a) ? -1 : 1;
  return a.remaining - b.remaining || b.resetAfterMs - a.resetAfterMs;
}

/** Whether a result was counted. If not, its limit, remaining permits and times have no meaning. */
export function hasFigures({ fallback }: RuleDecision): boolean {
  return fallback === undefined || fallback === 'local';
}

function waitOf({ retryAfterMs }: RuleDecision): number {
  return retryAfterMs ?? Number.MAX_SAFE_INTEGER;
}
