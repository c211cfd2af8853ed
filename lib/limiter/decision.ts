import { adjustmentOf, type Adjustment, type Hit, type HitResult } from '../contracts/store.js';
import {
  compareStrictness,
  type Decision,
  type DecisionSource,
  type Fallback,
  type RuleDecision,
} from '../contracts/decision.js';
import type { SharePart } from '../contracts/algorithm.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { denialIds } from './denial-id.js';
import type { RefundOptions } from './rate-limiter.options.js';

/** The charges of a decision that are not refunded, settled or held yet. */
export class Charge {
  private readonly ended: boolean[] = [];

  constructor(
    private readonly hits: readonly RuleHit[],
    private readonly results: readonly HitResult[],
  ) {}

  /**
   * Returns adjustments of a kind for the charges of the selected hits. Each charge is returned only once, so that it
   * cannot be refunded twice.
   */
  take(kind: Adjustment['kind'], isSelected: (hit: Hit, index: number) => boolean): Adjustment[] {
    return this.hits.flatMap((hit, index) =>
      isSelected(hit, index) && this.end(index) ? [this.adjustment(kind, index, hit.cost)] : [],
    );
  }

  /** Ends the charge of a hit. Returns whether the hit was charged, and its charge had not ended. */
  end(index: number): boolean {
    if (this.ended[index] || !this.isCounted(index)) return false;
    return (this.ended[index] = true);
  }

  /** Whether a hit was charged: not if an exception or the fallback allowed it without counting, or its shadow rule denied it. */
  isCounted(index: number): boolean {
    const { allowed, fallback } = this.results[index]!;
    return allowed && !this.hits[index]!.isExempt && (fallback === undefined || fallback === 'local');
  }

  /** Returns an adjustment of the charge of a hit by a number of permits. */
  adjustment(kind: Adjustment['kind'], index: number, cost: number): Adjustment {
    return { ...adjustmentOf(this.hits[index]!, this.results[index]!, kind), cost };
  }
}

/** Whether a hit takes permits. */
export function isPaid({ cost }: Hit): boolean {
  return cost > 0;
}

/** Whether a hit holds permits under the name of a lease. */
export function isHeld(hit: Hit): boolean {
  return hit.lease !== undefined && isPaid(hit);
}

/** The decision for a request: the result of the strictest enforced rule, and all results. */
export class DecidedHit implements Decision {
  readonly allowed: boolean;
  readonly rule: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly delayMs: number;
  readonly source: DecisionSource;
  readonly fallback: Fallback | undefined;
  declare readonly share?: SharePart;
  declare readonly nextPermitMs?: number;
  readonly #hits: readonly RuleHit[];
  readonly #results: readonly HitResult[];
  #charge: Charge | undefined;
  #number: number | undefined;

  constructor(
    readonly decisions: readonly RuleDecision[],
    source: DecisionSource,
    hits: readonly RuleHit[] = [],
    results: readonly HitResult[] = [],
  ) {
    const strictest = strictestOf(decisions);
    this.allowed = strictest.allowed || strictest.shadow === true;
    this.rule = strictest.rule;
    this.limit = strictest.limit;
    this.windowMs = strictest.windowMs;
    this.remaining = strictest.remaining;
    this.retryAfterMs = this.allowed ? 0 : strictest.retryAfterMs;
    this.resetAfterMs = strictest.resetAfterMs;
    this.delayMs = this.allowed ? longestDelay(decisions) : 0;
    this.source = strictest.source ?? source;
    this.fallback = strictest.fallback;
    if (strictest.share) this.share = strictest.share;
    if (strictest.nextPermitMs !== undefined) this.nextPermitMs = strictest.nextPermitMs;
    this.#hits = hits;
    this.#results = results;
  }

  /** A proxy of a decision is none: it does not have its charge. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #hits in value;
  }

  get id(): string | undefined {
    return this.allowed ? undefined : denialIds.of(DecidedHit.numberOf(this)!);
  }

  /** Returns the number of a denial of this limiter, which its id encrypts. */
  static numberOf(decision: Decision): number | undefined {
    return decision instanceof DecidedHit ? (decision.#number ??= denialIds.next()) : undefined;
  }

  /** Returns the charge of a decision: empty for the result of `peek`, `undefined` for a denial. */
  static chargeOf(decision: Decision): Charge | undefined {
    if (!(decision instanceof DecidedHit) || !decision.allowed) return undefined;
    return (decision.#charge ??= new Charge(decision.#hits, decision.#results));
  }

  /** Returns the decision of two for one request. The second replaces the results of its rules in the first. */
  static joined(one: Decision, other: Decision): DecidedHit {
    const isKept = (_each: unknown, index: number): boolean =>
      other.decisions.every(({ rule }) => rule !== one.decisions[index]!.rule);
    const chargesOf = (decision: Decision): readonly [readonly RuleHit[], readonly HitResult[]] =>
      decision instanceof DecidedHit ? [decision.#hits, decision.#results] : [[], []];
    const [[hits, results], [others, otherResults]] = [chargesOf(one), chargesOf(other)];
    return new DecidedHit(
      [...one.decisions.filter(isKept), ...other.decisions],
      other.source,
      [...hits.filter(isKept), ...others],
      [...results.filter(isKept), ...otherResults],
    );
  }

  /** Returns the denial of a request that was to be delayed, and did not wait. */
  static undelayed({ decisions, source }: Decision): DecidedHit {
    const denied = decisions.map((each) =>
      each.delayMs === 0 || each.shadow
        ? each
        : { ...each, allowed: false, retryAfterMs: each.delayMs, delayMs: 0 },
    );
    return new DecidedHit(denied, source);
  }

  /** Returns the permits that a request takes under a rule. */
  static costOf(decision: Decision, rule: string): number {
    const hits = decision instanceof DecidedHit ? decision.#hits : [];
    return hits.find((hit) => hit.rule.name === rule)?.cost ?? 0;
  }

  /** Returns the hits of a decision, or those that adjustments concern. */
  static hitsOf(decision: Decision, adjustments?: readonly Adjustment[]): readonly RuleHit[] {
    if (adjustments?.length === 0 || !(decision instanceof DecidedHit)) return [];
    if (!adjustments) return decision.#hits;
    return decision.#hits.filter((hit) => adjustments.some(({ key }) => key === hit.key));
  }
}

/** Returns the decision for a request from the results of its hits. */
export function decisionOf(
  hits: readonly RuleHit[],
  results: readonly HitResult[],
  isDryRun: boolean,
): DecidedHit {
  const { source } = results[0]!;
  let isMixed = source === 'fallback';
  for (const result of results) if (result.source !== source) isMixed = true;
  const decisions = new Array<RuleDecision>(hits.length);
  for (let index = 0; index < hits.length; index += 1) {
    decisions[index] = ruleDecision(hits[index]!, results[index]!, isMixed);
  }
  return isDryRun ? new DecidedHit(decisions, source) : new DecidedHit(decisions, source, hits, results);
}

/** Returns the result for one rule, with times in milliseconds instead of the store's microseconds. */
function ruleDecision({ rule, isExempt }: RuleHit, result: HitResult, isMixed: boolean): RuleDecision {
  const { allowed, remaining, retryAfter, resetAfter, delay, part, local = rule, source, fallback } = result;
  const { nextAfter } = result;
  const ending = rule.until !== undefined && retryAfter === null && rule.capacity === 0;
  const endsAfterMs = ending ? Math.max(0, Math.ceil(rule.until - performance.now())) : 0;
  const decision: { -readonly [Field in keyof RuleDecision]: RuleDecision[Field] } = {
    allowed,
    rule: rule.name,
    limit: local.capacity,
    windowMs: local.capacityWindowMs,
    remaining,
    retryAfterMs: ending ? endsAfterMs : retryAfter === null ? null : toMilliseconds(retryAfter),
    resetAfterMs: ending ? endsAfterMs : toMilliseconds(resetAfter),
    delayMs: toMilliseconds(delay),
  };
  if (isExempt) Object.assign(decision, { allowed: true, retryAfterMs: 0, delayMs: 0 });
  if (nextAfter !== undefined) decision.nextPermitMs = toMilliseconds(nextAfter);
  if (part) decision.share = part;
  if (rule.unit !== undefined) decision.unit = rule.unit;
  if (rule.shadow) decision.shadow = true;
  if (isMixed) decision.source = source;
  if (fallback) decision.fallback = fallback;
  return decision;
}

/** Converts a wait to whole milliseconds, rounded up so that a caller that waits this long has waited long enough. */
export function toMilliseconds(microseconds: number): number {
  return Math.ceil(microseconds / 1000);
}

function strictestOf(decisions: readonly RuleDecision[]): RuleDecision {
  let strictest = decisions[0]!;
  for (let index = 1; index < decisions.length; index += 1) {
    if (compareStrictness(decisions[index]!, strictest) < 0) strictest = decisions[index]!;
  }
  return strictest;
}

function longestDelay(decisions: readonly RuleDecision[]): number {
  let longest = 0;
  for (const { delayMs, shadow } of decisions) if (!shadow && delayMs > longest) longest = delayMs;
  return longest;
}

/** Returns the refunds of the permits that a decision charged, once: of all its rules, or of those with some names. */
export function refundsOf(
  decision: Decision,
  { onlyLast = false, rules }: RefundOptions = {},
): readonly Adjustment[] {
  const isMeant = (hit: Hit, index: number): boolean =>
    isPaid(hit) && (rules?.includes(decision.decisions[index]!.rule) ?? true);
  return DecidedHit.chargeOf(decision)?.take(onlyLast ? 'refund-last' : 'refund', isMeant) ?? [];
}
