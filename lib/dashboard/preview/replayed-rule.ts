import { algorithmOf } from '../../rules/rule-fields.js';
import type { RuleFields } from '../../nest/rules/rule-layers.js';
import { ifValid } from '../../contracts/rate-limit-config.error.js';
import type { CompiledRule, Resolved } from '../../rules/compiled-rule.js';
import { compileFields } from '../../nest/rules/compile-fields.js';
import { resolvedFields } from '../../nest/rules/rule-changes.js';

/** Returns why changes of a rule have no preview, as a sentence; `undefined` if they have one. */
export function whyNoPreview(fields: RuleFields): string | undefined {
  if (fields['share'] !== undefined) {
    return 'A change of this rule has no preview: its subjects share one limit, and each counts by its weight, which is not recorded.';
  }
  if (fields['maxWait'] !== undefined && !algorithmOf(fields['algorithm']).delays) {
    return 'A change of this rule has no preview: its requests wait for permits, and their arrival is not recorded.';
  }
  return undefined;
}

const LONGEST_LEASE = '366d';

/** The current and the changed rule of a request. */
interface RulePair {
  readonly now: CompiledRule;
  readonly then: CompiledRule;
  /** Returns the cost that a request would have, of the cost that it had. */
  readonly costThen: (cost: number) => number;
}

/** The current and the changed rule on one route. */
export class ReplayedRule {
  private readonly pairs = new Map<Resolved | undefined, RulePair | undefined>();
  /** Whether requests count depending on their response. */
  readonly isConditional: boolean;
  /** Whether requests hold their permits until they are released. */
  readonly isHeld: boolean;
  private readonly path: string;

  /**
   * @param current the fields with the live change that is in force
   * @param changed the fields with another one
   * @throws RateLimitConfigError if the change does not fit
   */
  constructor(
    private readonly current: RuleFields,
    private readonly changed: RuleFields,
  ) {
    this.path = `rule "${String(changed['name'])}"`;
    this.isConditional = (changed['count'] ?? 'all') !== 'all';
    this.isHeld = algorithmOf(changed['algorithm']).leases === true;
    compileFields(changed, this.path);
  }

  /** Returns the rule of a request by what it determined; `undefined` if that is no rule any more. */
  of(resolved: Resolved | undefined): RulePair | undefined {
    if (!this.pairs.has(resolved))
      this.pairs.set(
        resolved,
        ifValid(() => this.pairOf(resolved)),
      );
    return this.pairs.get(resolved);
  }

  private pairOf(resolved: Resolved = {}): RulePair {
    const now = resolvedFields(this.current, resolved, this.path);
    const then = resolvedFields(this.changed, resolved, this.path);
    const costThen = costChange(now['cost'] ?? 1, then['cost'] ?? 1);
    return { now: this.compiled(now), then: this.compiled(then), costThen };
  }

  /** Requests state their costs, and processes renew the leases of permits until they are released. */
  private compiled(fields: RuleFields): CompiledRule {
    return compileFields({ ...fields, cost: 0, ...(this.isHeld && { lease: LONGEST_LEASE }) }, this.path);
  }
}

function costChange(now: unknown, then: unknown): RulePair['costThen'] {
  if (typeof then === 'function') return (cost) => cost;
  return (cost) => (typeof now === 'function' || cost === now ? (then as number) : cost);
}
