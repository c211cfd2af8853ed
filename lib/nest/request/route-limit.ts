import { problem } from '../../contracts/rate-limit-config.error.js';
import { promised } from '../../contracts/thenable.js';
import { allowListOf } from '../../http/client-ip.js';
import { hasHungUp, type HttpRequest } from '../../http/subject.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import type { OnStoreError } from '../../rules/rule.js';
import { algorithmOf } from '../../rules/rule-fields.js';
import { subjectParts, type SubjectParts } from '../rules/by.js';
import type { EffectiveRule } from '../rules/effective-rule.js';
import { CALLED, type CountWhen, type OnMissingSubject } from '../rules/route-rule.js';
import { namedOn, originsOf } from '../rules/rule-layers.js';
import type { TableRule } from '../rules/rule-table.js';
import type { Warnings } from '../warnings.js';
import type { Conditions } from './conditions.js';
import type { Applied, Exchange, Uncounted } from './exchange.js';
import { fallbackSubject, partOf, subjectOf, UNUSABLE } from './subject-of.js';
import type { Found, FoundSubject, SubjectOf } from './subject-of.js';

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

const OUTCOMES: Record<OnMissingSubject, string> = {
  ip: 'counts by its IP',
  skip: 'is allowed without this rule',
  deny: 'is denied',
};

const NO_HITS: readonly RuleHit[] = [];

/** Absent until a rule is applied on conditions. */
let conditions: typeof Conditions | undefined;

/** Loads what applies a rule on conditions: at start, if a rule is known to need it. */
export async function loadConditions(): Promise<void> {
  conditions ??= (await import('./conditions.js')).Conditions;
}

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
  /** Returns the subject of a request. A check may replace it for a while. */
  subjectOf: SubjectOf;
  readonly isAllowed: ((request: HttpRequest) => boolean) | undefined;
  private conditions: Conditions | undefined;

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

  /** The functions of the rule that may read the user of a request, with their fields. */
  get readers(): readonly (readonly [field: string, reader: unknown])[] {
    const { fields } = this.rule.declared;
    return [
      ...this.parts.functions.map((reader) => ['by', reader] as const),
      ...CALLED.map((field) => [field, fields[field]] as const).filter(
        ([, value]) => typeof value === 'function',
      ),
    ];
  }

  /** Whether the rule needs the end of the request. */
  get endsLate(): boolean {
    return this.isHeld || this.count !== 'all' || this.isSettled;
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
    if (rule.isConditional) {
      if (!conditions) return loadConditions().then(() => this.apply(exchange));
      this.conditions ??= new conditions(this, this.onStoreError);
      return this.conditions.apply(exchange, rule);
    }
    const subject = this.subjectIn(exchange);
    if (typeof subject === 'string' && !rule.exceptions) return rule.own.hits(subject);
    if (subject instanceof Promise) return subject.then((found) => this.hits(found, rule, exchange));
    return this.hits(subject, rule, exchange);
  }

  /** Returns the subject that `subjectOf` of the guard returns, or that of `by` if it returns none. */
  subjectIn(exchange: Exchange): FoundSubject | Promise<FoundSubject> {
    if (!exchange.subjectOf) return this.subjectOf(exchange.request, exchange);
    const report = (value: unknown): void => this.reportUnusable(value, 'subjectOf');
    const read = (given: Awaited<Found>): FoundSubject | Promise<FoundSubject> =>
      partOf(given, report) ?? this.subjectOf(exchange.request, exchange);
    const found: Found = promised(exchange.subjectOf(exchange.context, this.name));
    return found instanceof Promise ? found.then(read) : read(found);
  }

  private readonly reportUnusable = (value: unknown, field = 'by'): void => {
    const allowed = 'a function that gives a string or a number, or nothing';
    const outcome = this.fields.onMissingSubject === 'deny' ? OUTCOMES.deny : OUTCOMES.ip;
    const reason = problem(`${this.path}.${field}`, value, allowed);
    this.warnOfInvalid(field, reason, `Such a request ${outcome}`);
  };

  /**
   * Logs that a function of the rule returned an invalid value, or failed: once for each declaration of the function.
   *
   * @param fields the field whose function it is, and those that the value has to fit
   * @param reason what is wrong, with the path of the field
   * @param outcome a sentence on what happens to such a request
   */
  warnOfInvalid(fields: string | readonly string[], reason: string, outcome: string): void {
    this.warnings.warnOfInvalid(this.declarationOf(fields), reason, outcome);
  }

  /**
   * Names the declaration of fields. All rules without a name are named `default`, so the name alone would not do. All routes
   * that have a field from the module, or from their class, have one declaration of it.
   */
  declarationOf(fields: string | readonly string[]): string {
    const origins = originsOf(this.fields);
    return [this.name, ...[fields].flat().map((field) => `${field} ${origins[field]}`)].join(' ');
  }

  hits(
    found: FoundSubject,
    rule: EffectiveRule,
    exchange: Exchange,
    keyed = rule.own,
    cost?: number,
    plan?: string,
  ): Applied {
    const { request } = exchange;
    let subject = found === UNUSABLE ? undefined : found;
    if (subject === undefined) {
      this.checkMissing?.(request);
      const { onMissingSubject = 'ip', ipv6Prefix = 64 } = rule.fields;
      if (onMissingSubject === 'deny') return this.uncounted('no-subject');
      // A client that sends an invalid subject must not have an advantage over one that sends none.
      if (found === undefined && onMissingSubject === 'skip')
        return this.mayHaveHungUp(exchange) ? this.uncounted('hung-up') : NO_HITS;
      subject = fallbackSubject(request, ipv6Prefix);
      if (subject === undefined) return this.uncounted(hasHungUp(request) ? 'hung-up' : 'no-address');
    }
    const excepted = rule.exceptions && rule.exceptionOf(subject, plan);
    if (excepted) return excepted === 'allow' ? NO_HITS : excepted.hits(subject);
    return keyed.hits(subject, cost);
  }

  /** Whether a subject may be missing since its client has disconnected: it must not evade the limit that way. */
  private mayHaveHungUp({ request, subjectOf }: Exchange): boolean {
    const { ip, functions } = this.parts;
    return (ip || functions.length > 0 || subjectOf !== undefined) && hasHungUp(request);
  }

  /** A rule in shadow mode denies no request. */
  private uncounted(reason: Uncounted['reason']): Applied {
    return this.isEnforced ? { rule: this.name, reason } : NO_HITS;
  }
}
