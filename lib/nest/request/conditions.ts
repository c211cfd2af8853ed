import { readCount } from '../../contracts/options.js';
import { problem, problemsOf, quoted } from '../../contracts/rate-limit-config.error.js';
import { messageOf, shown } from '../../contracts/shown.js';
import type { MaybePromise } from '../../contracts/thenable.js';
import type { HttpRequest } from '../../http/subject.js';
import type { Resolved, RuleHit } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { OnStoreError } from '../../rules/rule.js';
import { RULE_FIELDS } from '../../rules/rule-fields.js';
import { copyOfText, type Subject } from '../../rules/subject.js';
import type { EffectiveRule } from '../rules/effective-rule.js';
import type { CALLED } from '../rules/route-rule.js';
import type { Applied, Exchange } from './exchange.js';
import { UNUSABLE, type FoundSubject } from './subject-of.js';

const WITHOUT_PLAN = 'Such a request has the limit of the rule itself';

const WITHOUT_RULE = 'As `onStoreError` says, such a request is allowed without this rule';

const BY_LAST_VALID =
  'Such a request is limited by the last valid limit and window, and gets a 503 if there are none yet';

const WITHOUT_SHADOW = 'In shadow mode, such a request is allowed without this rule';

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
  warnOfInvalid(fields: string | readonly string[], reason: string, outcome: string): void;
}

/** Thrown when the failure of a function of a shadow rule was logged. */
const REPORTED = new Error('a function of a rule in shadow mode failed');

/** Applies a rule to a request if more than its subject decides: see `EffectiveRule.isConditional`. */
export class Conditions {
  /** What functions returned for the last request whose limit and window were valid. */
  private readonly lastValid: { limit?: unknown; window?: unknown } = {};

  constructor(
    private readonly limit: ConditionalLimit,
    private readonly onStoreError: OnStoreError,
  ) {}

  /** A function that throws or rejects fails the request, unless the rule is in shadow mode: then the rule is skipped. */
  async apply(exchange: Exchange, rule: EffectiveRule): Promise<Applied> {
    const applied = this.hits(exchange, rule);
    if (rule.fields.mode !== 'shadow') return applied;
    return applied.catch((error: unknown) => {
      if (error !== REPORTED) throw error;
      return [];
    });
  }

  private async hits(exchange: Exchange, rule: EffectiveRule): Promise<Applied> {
    const { limit } = this;
    if (limit.isAllowed?.(exchange.request) || (await this.isSkipped(exchange, rule))) return [];
    const plan = await this.planOf(exchange, rule);
    const isOpen = plan === undefined && rule.dynamic.length > 0;
    const keyed = isOpen ? await this.withValues(exchange, rule) : rule.for({ plan });
    if (typeof keyed === 'string') return this.withoutLimit(exchange, rule, keyed);
    const cost = isOpen ? await this.costOf(exchange, rule) : undefined;
    const applied = limit.hits(await this.subjectIn(exchange, rule), rule, exchange, keyed, cost, plan);
    return 'reason' in applied ? applied : this.waiting(applied, exchange, rule);
  }

  /** Lets hits wait as long as their rule says, with its plan or the exception of its subject. */
  private waiting(applied: readonly RuleHit[], exchange: Exchange, rule: EffectiveRule): readonly RuleHit[] {
    const mayWait = rule.isHeld || exchange.context.getType<string>() === 'provider';
    const { maxWaitMs = 0 } = applied[0]?.rule ?? {}; // A trial limit waits as long as its rule.
    if (maxWaitMs === 0 || !mayWait) return applied;
    const signal = (): AbortSignal | undefined => exchange.gone();
    const current = async (): Promise<readonly RuleHit[]> => {
      const now = await this.limit.apply(exchange); // A live change may have come meanwhile.
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
    const subject = rule.exceptions && (await this.subjectIn(exchange, rule));
    const excepted = subject === undefined || subject === UNUSABLE ? undefined : rule.exceptionOf(subject);
    if (excepted)
      return excepted === 'allow' ? [] : this.waiting(excepted.hits(subject as Subject), exchange, rule);
    return outcome === 'skip' ? [] : { rule: limit.name, reason: 'no-limit' };
  }

  /** Returns the plan of a request; `undefined` if it has none, or one that does not exist. */
  private async planOf(exchange: Exchange, rule: EffectiveRule): Promise<string | undefined> {
    const plan = await this.valueOf('plan', exchange, rule);
    if (plan === undefined || plan === null) return undefined;
    const plans = Object.keys(rule.fields.plans ?? {});
    if (plans.includes(plan as string)) return plan as string;
    const reason = problem(`${this.limit.path}.plan`, plan, quoted(plans));
    this.limit.warnOfInvalid(['plan', 'plans'], reason, WITHOUT_PLAN);
    return undefined;
  }

  /** Returns the rule with the limit and window of a request, or what happens to a request without valid ones. */
  private async withValues(exchange: Exchange, rule: EffectiveRule): Promise<KeyedRule | 'skip' | 'deny'> {
    const { limit, window, mode, onStoreError = this.onStoreError } = rule.fields;
    const values = {
      limit: copied(await this.valueOf('limit', exchange, rule)),
      window: copied(await this.valueOf('window', exchange, rule)),
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
    this.limit.warnOfInvalid(['limit', 'window'], problems.join('; '), outcome);
    if (isAllowed) return 'skip';
    problemsWith({ ...values, ...this.lastValid });
    return keyed ?? (mode === 'shadow' ? 'skip' : 'deny');
  }

  /** Costs are often computed from what a client sent: an invalid one still takes a permit. */
  private async costOf(exchange: Exchange, rule: EffectiveRule): Promise<number> {
    if (rule.fields.cost === undefined) return 1;
    const given = await this.valueOf('cost', exchange, rule);
    const cost = readCount(given);
    if (RULE_FIELDS.cost.accepts(cost)) return cost as number;
    // A client that asks for more must not pay less, in whatever form it writes a number.
    const number = ['number', 'string', 'bigint'].includes(typeof cost) ? Number(cost) : NaN;
    const permits = number > 1 ? Math.min(Math.ceil(number), LARGEST_COST) : 1;
    const reason = problem(`${this.limit.path}.cost`, given, RULE_FIELDS.cost.allowed);
    const outcome = `Such a request takes ${permits} ${permits === 1 ? 'permit' : 'permits'}`;
    this.limit.warnOfInvalid('cost', reason, outcome);
    return permits;
  }

  private async isSkipped(exchange: Exchange, rule: EffectiveRule): Promise<boolean> {
    if (!rule.fields.skipIf) return false;
    const isSkipped = await this.valueOf('skipIf', exchange, rule);
    if (isSkipped !== undefined && isSkipped !== null && typeof isSkipped !== 'boolean') {
      const reason = problem(`${this.limit.path}.skipIf`, isSkipped, 'a function that returns true or false');
      this.limit.warnOfInvalid('skipIf', reason, 'The rule applies to such a request');
    }
    return isSkipped === true;
  }

  /** Returns the value of a field for a request. */
  private valueOf(field: (typeof CALLED)[number], exchange: Exchange, rule: EffectiveRule): unknown {
    return this.reported(field, rule, () => exchange.valueOf<unknown>(rule.fields[field]));
  }

  private subjectIn(exchange: Exchange, rule: EffectiveRule): MaybePromise<FoundSubject> {
    const find = (): MaybePromise<FoundSubject> => this.limit.subjectIn(exchange);
    return exchange.subjectOf ? find() : this.reported('by', rule, find); // That is a hook of the guard.
  }

  /** Calls a function of the rule. Logs a failure in shadow mode, since no exception filter gets it. */
  private reported<Value>(
    field: string,
    rule: EffectiveRule,
    call: () => MaybePromise<Value>,
  ): MaybePromise<Value> {
    if (rule.fields.mode !== 'shadow') return call();
    const run = async (): Promise<Value> => call();
    return run().catch((error: unknown) => {
      const reason = `${this.limit.path}.${field}: threw ${shown(messageOf(error))}`;
      this.limit.warnOfInvalid(field, reason, WITHOUT_SHADOW);
      throw REPORTED;
    });
  }
}

/** Returns a value without a reference to a longer text: it is kept, and may be a part of what a client sent. */
function copied(value: unknown): unknown {
  return typeof value === 'string' ? copyOfText(value) : value;
}
