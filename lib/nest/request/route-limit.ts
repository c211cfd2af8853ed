import { readCount } from '../../contracts/options.js';
import { problem, problemsOf, quoted } from '../../contracts/rate-limit-config.error.js';
import { allowListOf } from '../../http/client-ip.js';
import type { HttpRequest } from '../../http/subject.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { OnStoreError } from '../../rules/rule.js';
import { algorithmOf, RULE_FIELDS } from '../../rules/rule-fields.js';
import { subjectParts, type SubjectParts } from '../rules/by.js';
import type { EffectiveRule } from '../rules/effective-rule.js';
import type { CountWhen, OnMissingSubject } from '../rules/route-rule.js';
import { namedOn } from '../rules/rule-layers.js';
import type { TableRule } from '../rules/rule-table.js';
import type { Warnings } from '../warnings.js';
import type { Exchange } from './exchange.js';
import {
  fallbackSubject,
  hookedSubject,
  subjectOf,
  UNUSABLE,
  type FoundSubject,
  type SubjectOf,
} from './subject-of.js';

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
  see(exchange: Exchange, limit: RouteLimit): boolean;
}

/**
 * Returns the hits with waiting enabled. They stop waiting when the client disconnects, and follow live changes.
 *
 * @param maxWaitMs milliseconds, from 1
 * @param current returns the hits that the request would have if it arrived now
 */
function waitingHits(
  hits: readonly RuleHit[],
  exchange: Exchange,
  maxWaitMs: number,
  current: () => Promise<readonly RuleHit[]>,
): readonly RuleHit[] {
  const signal = (): AbortSignal | undefined => exchange.gone();
  return hits.map((hit) => ({
    ...hit,
    ...(hit.lease !== undefined && { waits: true }),
    wait: { maxWaitMs, signal, current },
  }));
}

const OUTCOMES: Record<OnMissingSubject, string> = {
  ip: 'counts by its IP',
  skip: 'is allowed without this rule',
  deny: 'is denied',
};

const WITHOUT_PLAN = 'Such a request has the limit of the rule itself';

const WITHOUT_RULE = 'As `onStoreError` says, such a request is allowed without this rule';

const BY_LAST_VALID =
  'Such a request is limited by the last valid limit and window, and gets a 503 if there are none yet';

const LARGEST_COST = 1e9;

const NO_HITS: readonly RuleHit[] = [];

/** A rule on a route: turns a request into hits. */
export class RouteLimit {
  readonly name: string;
  readonly path: string;
  readonly parts: SubjectParts;
  /** Whether requests may be counted by the client's IP. */
  readonly needsAddress: boolean;
  /** Whether a request without the subject passes unlimited. */
  readonly skipsMissing: boolean;
  readonly isHeld: boolean;
  /** Whether the algorithm delays requests by itself, so that only calls of methods of providers wait for permits. */
  readonly delays: boolean;
  readonly count: CountWhen;
  /** Whether the charge is corrected by what the handler returns. */
  readonly isSettled: boolean;
  readonly isNamed: boolean;
  readonly checks = new Set<Check>();
  /** Checks requests without the subject; absent if there is nothing to check. */
  checkMissing: ((request: HttpRequest) => void) | undefined;
  private readonly subjectOf: SubjectOf;
  private readonly isAllowed: ((request: HttpRequest) => boolean) | undefined;
  /** The values of the last request whose limit and window were valid, see `EffectiveRule.for`. */
  private lastValid: { readonly rule: EffectiveRule; readonly keyed: KeyedRule } | undefined;

  constructor(
    readonly rule: TableRule,
    private readonly warnings: Warnings,
    /** `onStoreError` of the module. */
    private readonly onStoreError: OnStoreError = 'local',
  ) {
    const { fields, isHeld } = rule.declared;
    const { by = 'ip', ipv6Prefix = 64, count = 'all', allowList, onMissingSubject = 'ip' } = fields;
    this.name = rule.name;
    this.path = rule.path;
    this.isHeld = isHeld;
    this.count = count;
    this.isSettled = fields.settle !== undefined;
    this.parts = subjectParts(by);
    this.isNamed = namedOn(fields) !== 'nowhere';
    this.skipsMissing = onMissingSubject === 'skip';
    this.needsAddress =
      this.parts.ip || allowList !== undefined || (by !== 'everyone' && onMissingSubject === 'ip');
    this.delays = algorithmOf(fields['algorithm']).delays === true;
    this.subjectOf = subjectOf(by, ipv6Prefix, this.reportUnusable);
    this.isAllowed = allowList && allowListOf(allowList);
  }

  /** The fields of the rule with its live change. */
  get fields(): EffectiveRule['fields'] {
    return this.rule.current.fields;
  }

  /** Whether the rule needs the end of the request. */
  get endsLate(): boolean {
    return this.isHeld || this.count !== 'all' || this.isSettled;
  }

  get names(): readonly string[] {
    return this.fields.trial === undefined ? [this.name] : [this.name, `${this.name}?`];
  }

  /** Whether the rule denies requests; a shadow rule does not. */
  get isEnforced(): boolean {
    return this.fields.mode !== 'shadow';
  }

  /** Whether requests wait for permits. */
  get waits(): boolean {
    return this.rule.current.maxWaitMs > 0;
  }

  /** Returns what happens to a request without the subject, in words for a message. */
  get outcomeOfMissing(): string {
    return OUTCOMES[this.fields.onMissingSubject ?? 'ip'];
  }

  apply(exchange: Exchange): Applied | Promise<Applied> {
    const rule = this.rule.current;
    if (rule.isConditional) return this.applyConditionally(exchange, rule);
    const subject = this.subjectIn(exchange);
    if (typeof subject === 'string' && !rule.exceptions) return rule.own.hits(subject);
    if (subject instanceof Promise) return subject.then((found) => this.hits(found, rule, exchange));
    return this.hits(subject, rule, exchange);
  }

  private async applyConditionally(exchange: Exchange, rule: EffectiveRule): Promise<Applied> {
    if (this.isAllowed?.(exchange.request) || (await this.isSkipped(exchange))) return NO_HITS;
    const plan = await this.planOf(exchange, rule);
    const isOpen = plan === undefined && rule.dynamic.length > 0;
    const keyed = isOpen ? await this.withValues(exchange, rule) : rule.for({ plan });
    if (keyed === 'skip') return NO_HITS;
    if (keyed === 'unavailable') return { rule: this.name, reason: 'no-limit' };
    const cost = isOpen ? this.readCost(await exchange.valueOf(rule.fields.cost ?? 1)) : undefined;
    const applied = this.hits(await this.subjectIn(exchange), rule, exchange, keyed, cost);
    const waits = rule.maxWaitMs > 0 && (this.isHeld || exchange.context.getType<string>() === 'provider');
    if (!waits || 'reason' in applied) return applied;
    return waitingHits(applied, exchange, rule.maxWaitMs, async () => {
      const now = await this.apply(exchange);
      return 'reason' in now ? [] : now;
    });
  }

  /** Returns the plan of a request; `undefined` if it has none, or one that does not exist. */
  private async planOf(exchange: Exchange, { fields }: EffectiveRule): Promise<string | undefined> {
    const plan: unknown = await exchange.valueOf(fields.plan);
    if (plan === undefined || plan === null) return undefined;
    const plans = Object.keys(fields.plans ?? {});
    if (plans.includes(plan as string)) return plan as string;
    const reason = problem(`${this.path}.plan`, plan, quoted(plans));
    this.warnings.warnOfInvalid(this.name, 'plan', reason, WITHOUT_PLAN);
    return undefined;
  }

  /** Returns the rule with the limit and window of a request, or what happens to a request without valid ones. */
  private async withValues(
    exchange: Exchange,
    rule: EffectiveRule,
  ): Promise<KeyedRule | 'skip' | 'unavailable'> {
    const { limit, window, mode, onStoreError = this.onStoreError } = rule.fields;
    const values = { limit: await exchange.valueOf(limit), window: await exchange.valueOf(window) };
    const problems = problemsOf(() => (this.lastValid = { rule, keyed: rule.for({ values }) }));
    if (problems.length === 0) return this.lastValid!.keyed;
    // Often read from the application's data: a missing value must not be an advantage for a client.
    const isAllowed = onStoreError === 'allow';
    this.warnings.warnOfInvalid(
      this.name,
      'limit',
      problems.join('; '),
      isAllowed ? WITHOUT_RULE : BY_LAST_VALID,
    );
    if (isAllowed) return 'skip';
    if (this.lastValid?.rule === rule) return this.lastValid.keyed;
    return mode === 'shadow' ? 'skip' : 'unavailable';
  }

  /** Costs are often computed from what a client sent: an invalid one still takes a permit. */
  private readCost(given: unknown): number {
    const cost = readCount(given);
    if (RULE_FIELDS.cost.accepts(cost)) return cost as number;
    const permits = typeof cost === 'number' && cost > 1 ? Math.min(Math.ceil(cost), LARGEST_COST) : 1;
    const reason = problem(`${this.path}.cost`, given, RULE_FIELDS.cost.allowed);
    const outcome = `Such a request takes ${permits} ${permits === 1 ? 'permit' : 'permits'}`;
    this.warnings.warnOfInvalid(this.name, 'cost', reason, outcome);
    return permits;
  }

  private subjectIn(exchange: Exchange): FoundSubject | Promise<FoundSubject> {
    if (!exchange.subjectOf) return this.subjectOf(exchange.request, exchange);
    const report = (value: unknown): void => this.reportUnusable(value, 'subjectOf');
    return hookedSubject(exchange, this.name, this.subjectOf, report);
  }

  private async isSkipped(exchange: Exchange): Promise<boolean> {
    const { skipIf } = this.fields;
    const isSkipped: unknown = skipIf && (await exchange.valueOf(skipIf));
    if (isSkipped !== undefined && isSkipped !== null && typeof isSkipped !== 'boolean') {
      const reason = problem(`${this.path}.skipIf`, isSkipped, 'a function that returns true or false');
      this.warnings.warnOfInvalid(this.name, 'skipIf', reason, 'The rule applies to such a request');
    }
    return isSkipped === true;
  }

  private readonly reportUnusable = (value: unknown, field = 'by'): void => {
    const allowed = 'a function that gives a string or a number, or nothing';
    const outcome = this.fields.onMissingSubject === 'deny' ? OUTCOMES.deny : OUTCOMES.ip;
    const reason = problem(`${this.path}.${field}`, value, allowed);
    this.warnings.warnOfInvalid(this.name, field, reason, `Such a request ${outcome}`);
  };

  private hits(
    subject: FoundSubject,
    rule: EffectiveRule,
    { request }: Exchange,
    keyed = rule.own,
    cost?: number,
  ): Applied {
    if (subject !== undefined && subject !== UNUSABLE) {
      const excepted = rule.exceptions && rule.exceptionOf(subject);
      if (excepted) return excepted === 'allow' ? NO_HITS : excepted.hits(subject);
      return keyed.hits(subject, cost);
    }
    this.checkMissing?.(request);
    const { onMissingSubject = 'ip', ipv6Prefix = 64 } = rule.fields;
    if (onMissingSubject === 'deny') return this.refusal('no-subject');
    // A client that sends an invalid subject must not have an advantage over one that sends none.
    if (subject === undefined && onMissingSubject === 'skip') return NO_HITS;
    const found = fallbackSubject(request, ipv6Prefix);
    if (found === undefined) return this.refusal(request.socket?.destroyed ? 'hung-up' : 'no-address');
    return keyed.hits(found, cost);
  }

  /** A rule in shadow mode denies no request. */
  private refusal(reason: Refusal['reason']): Applied {
    return this.isEnforced ? { rule: this.name, reason } : NO_HITS;
  }
}
