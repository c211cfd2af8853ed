import { readCount } from '../../contracts/options.js';
import { problem, problemsOf, quoted } from '../../contracts/rate-limit-config.error.js';
import type { HttpRequest } from '../../http/subject.js';
import type { Resolved, RuleHit } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { OnStoreError } from '../../rules/rule.js';
import { RULE_FIELDS } from '../../rules/rule-fields.js';
import { copyOfText, type Subject } from '../../rules/subject.js';
import type { EffectiveRule } from '../rules/effective-rule.js';
import type { Warnings } from '../warnings.js';
import type { Applied, Exchange } from './exchange.js';
import { UNUSABLE, type FoundSubject } from './subject-of.js';

const WITHOUT_PLAN = 'Such a request has the limit of the rule itself';

const WITHOUT_RULE = 'As `onStoreError` says, such a request is allowed without this rule';

const BY_LAST_VALID =
  'Such a request is limited by the last valid limit and window, and gets a 503 if there are none yet';

const LARGEST_COST = 1e9;

/** A rule on a route, as conditions see it. */
interface ConditionalLimit {
  readonly name: string;
  readonly path: string;
  readonly isAllowed: ((request: HttpRequest) => boolean) | undefined;
  apply(exchange: Exchange): Applied | Promise<Applied>;
  subjectIn(exchange: Exchange): FoundSubject | Promise<FoundSubject>;
  hits(
    subject: FoundSubject,
    rule: EffectiveRule,
    exchange: Exchange,
    keyed: KeyedRule,
    cost: number | undefined,
    plan: string | undefined,
  ): Applied;
}

/** Applies a rule to a request if more than its subject decides: a plan, functions, `skipIf`, `allowList` or `maxWait`. */
export class Conditions {
  /** What functions returned for the last request whose limit and window were valid. */
  private readonly lastValid: { limit?: unknown; window?: unknown } = {};

  constructor(
    private readonly limit: ConditionalLimit,
    private readonly warnings: Warnings,
    private readonly onStoreError: OnStoreError,
  ) {}

  async apply(exchange: Exchange, rule: EffectiveRule): Promise<Applied> {
    const { limit } = this;
    if (limit.isAllowed?.(exchange.request) || (await this.isSkipped(exchange, rule))) return [];
    const plan = await this.planOf(exchange, rule);
    const isOpen = plan === undefined && rule.dynamic.length > 0;
    const keyed = isOpen ? await this.withValues(exchange, rule) : rule.for({ plan });
    if (typeof keyed === 'string') return this.withoutLimit(exchange, rule, keyed);
    const cost = isOpen ? this.readCost(await exchange.valueOf(rule.fields.cost ?? 1)) : undefined;
    const applied = limit.hits(await limit.subjectIn(exchange), rule, exchange, keyed, cost, plan);
    const { maxWaitMs } = rule;
    const waits = maxWaitMs > 0 && (rule.isHeld || exchange.context.getType<string>() === 'provider');
    if (!waits || 'reason' in applied) return applied;
    const signal = (): AbortSignal | undefined => exchange.gone();
    const current = async (): Promise<readonly RuleHit[]> => {
      const now = await limit.apply(exchange); // A live change may have come meanwhile.
      return 'reason' in now ? [] : now;
    };
    const wait = { maxWaitMs, signal, current };
    return applied.map((hit) => ({ ...hit, ...(hit.lease !== undefined && { waits: true }), wait }));
  }

  /** Applies a rule whose functions have no valid values: only an exception of the subject states a limit. */
  private async withoutLimit(
    exchange: Exchange,
    rule: EffectiveRule,
    outcome: 'skip' | 'deny',
  ): Promise<Applied> {
    const { limit } = this;
    const subject = rule.exceptions && (await limit.subjectIn(exchange));
    const excepted = subject === undefined || subject === UNUSABLE ? undefined : rule.exceptionOf(subject);
    if (excepted) return excepted === 'allow' ? [] : excepted.hits(subject as Subject);
    return outcome === 'skip' ? [] : { rule: limit.name, reason: 'no-limit' };
  }

  /** Returns the plan of a request; `undefined` if it has none, or one that does not exist. */
  private async planOf(exchange: Exchange, { fields }: EffectiveRule): Promise<string | undefined> {
    const plan: unknown = await exchange.valueOf(fields.plan);
    if (plan === undefined || plan === null) return undefined;
    const plans = Object.keys(fields.plans ?? {});
    if (plans.includes(plan as string)) return plan as string;
    const reason = problem(`${this.limit.path}.plan`, plan, quoted(plans));
    this.warnings.warnOfInvalid(this.limit.name, 'plan', reason, WITHOUT_PLAN);
    return undefined;
  }

  /** Returns the rule with the limit and window of a request, or what happens to a request without valid ones. */
  private async withValues(exchange: Exchange, rule: EffectiveRule): Promise<KeyedRule | 'skip' | 'deny'> {
    const { limit, window, mode, onStoreError = this.onStoreError } = rule.fields;
    const values = {
      limit: copied(await exchange.valueOf(limit)),
      window: copied(await exchange.valueOf(window)),
    };
    let keyed: KeyedRule | undefined;
    const problemsWith = (tried: Resolved): readonly string[] =>
      problemsOf(() => (keyed = rule.for({ values: tried })));
    const problems = problemsWith(values);
    if (problems.length === 0) {
      if (typeof limit === 'function') this.lastValid.limit = values.limit;
      if (typeof window === 'function') this.lastValid.window = values.window;
      return keyed!;
    }
    // Often read from the application's data: a missing value must not be an advantage for a client.
    const isAllowed = onStoreError === 'allow';
    const outcome = isAllowed ? WITHOUT_RULE : BY_LAST_VALID;
    this.warnings.warnOfInvalid(this.limit.name, 'limit', problems.join('; '), outcome);
    if (isAllowed) return 'skip';
    problemsWith({ ...values, ...this.lastValid });
    return keyed ?? (mode === 'shadow' ? 'skip' : 'deny');
  }

  /** Costs are often computed from what a client sent: an invalid one still takes a permit. */
  private readCost(given: unknown): number {
    const cost = readCount(given);
    if (RULE_FIELDS.cost.accepts(cost)) return cost as number;
    const permits = typeof cost === 'number' && cost > 1 ? Math.min(Math.ceil(cost), LARGEST_COST) : 1;
    const reason = problem(`${this.limit.path}.cost`, given, RULE_FIELDS.cost.allowed);
    const outcome = `Such a request takes ${permits} ${permits === 1 ? 'permit' : 'permits'}`;
    this.warnings.warnOfInvalid(this.limit.name, 'cost', reason, outcome);
    return permits;
  }

  private async isSkipped(exchange: Exchange, { fields: { skipIf } }: EffectiveRule): Promise<boolean> {
    const isSkipped: unknown = skipIf && (await exchange.valueOf(skipIf));
    if (isSkipped !== undefined && isSkipped !== null && typeof isSkipped !== 'boolean') {
      const reason = problem(`${this.limit.path}.skipIf`, isSkipped, 'a function that returns true or false');
      this.warnings.warnOfInvalid(this.limit.name, 'skipIf', reason, 'The rule applies to such a request');
    }
    return isSkipped === true;
  }
}

/** Returns a value without a reference to a longer text: it is kept, and may be a part of what a client sent. */
function copied(value: unknown): unknown {
  return typeof value === 'string' ? copyOfText(value) : value;
}
