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
  /** Who answered for this rule, where not all of a decision may have come from one. */
  readonly source?: DecisionSource;
}

/** Who answered: a store, or the policy for a store that did not. */
export type DecisionSource = 'redis' | 'memory' | 'cache' | 'policy';

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
 * time until the full limit is back. What a policy lets through comes last, since nobody knows its figures.
 */
export function compareStrictness(a: RuleDecision, b: RuleDecision): number {
  if (a.observed !== b.observed) return a.observed ? 1 : -1;
  if (a.allowed !== b.allowed) return a.allowed ? 1 : -1;
  if (!a.allowed) return waitOf(b) - waitOf(a) || 0;
  if (a.source !== b.source && (a.source === 'policy' || b.source === 'policy')) {
    return a.source === 'policy' ? 1 : -1;
  }
  return a.remaining - b.remaining || b.resetAfterMs - a.resetAfterMs;
}

function waitOf({ retryAfterMs }: RuleDecision): number {
  return retryAfterMs ?? Number.MAX_SAFE_INTEGER;
}
