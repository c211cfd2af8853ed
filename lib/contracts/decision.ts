/** The answer for one rule. */
export interface RuleDecision {
  /** Whether this rule lets the hit through. */
  readonly allowed: boolean;
  /** The rule's name. */
  readonly rule: string;
  /** The most permits that can be had at once: the rule's `burst` if it has one, else its `limit`. */
  readonly limit: number;
  /** The milliseconds in which `limit` permits come back: the `window` of a rule without `burst`. */
  readonly windowMs: number;
  /** Permits left, after this hit if it was charged. */
  readonly remaining: number;
  /** Milliseconds until the same hit would be allowed if nobody else came; 0 if it is, `null` if never. */
  readonly retryAfterMs: number | null;
  /** Milliseconds until the full limit is there again if nobody comes. */
  readonly resetAfterMs: number;
  /** Milliseconds for which the caller should hold the hit back before it goes on. */
  readonly delayMs: number;
  /** There if the rule is only observed: it has denied nothing, whatever it says. */
  readonly observed?: boolean;
  /** Where the result of this rule comes from, if not every rule of the request has the same source. */
  readonly source?: DecisionSource;
  /** How the fallback decided; present if the source is `'fallback'`. */
  readonly fallback?: Fallback | undefined;
}

/** Where a decision comes from: a store, the process's cache, or the fallback while Redis cannot decide. */
export type DecisionSource = 'redis' | 'memory' | 'cache' | 'fallback';

/**
 * What decides while Redis cannot: `'local'` counts in the memory of this process, which has its share of the
 * limit; `'allow'` allows and `'deny'` denies every request, without figures.
 */
export type Fallback = 'local' | 'allow' | 'deny';

/** The answer for a hit: that of its strictest rule, and all of them. */
export interface Decision extends RuleDecision {
  /** Who gave the strictest answer. */
  readonly source: DecisionSource;
  /** One answer a rule, in the order of the rules. */
  readonly decisions: readonly RuleDecision[];
}

/**
 * Orders answers, the strictest first: enforced rules before observed ones, and of either denials before
 * the rest; denials by the longest wait, the others by the fewest permits left and then by the longest
 * time until the full limit is back. What the fallback allows without counting comes last: it has no figures.
 */
export function compareStrictness(a: RuleDecision, b: RuleDecision): number {
  if (a.observed !== b.observed) return a.observed ? 1 : -1;
  if (a.allowed !== b.allowed) return a.allowed ? 1 : -1;
  if (!a.allowed) return waitOf(b) - waitOf(a) || 0;
  if (hasFigures(a) !== hasFigures(b)) return hasFigures(a) ? -1 : 1;
  return a.remaining - b.remaining || b.resetAfterMs - a.resetAfterMs;
}

/** Whether the result was counted, so that its limit, remaining permits and times mean something. */
export function hasFigures({ fallback }: RuleDecision): boolean {
  return fallback === undefined || fallback === 'local';
}

function waitOf({ retryAfterMs }: RuleDecision): number {
  return retryAfterMs ?? Number.MAX_SAFE_INTEGER;
}
