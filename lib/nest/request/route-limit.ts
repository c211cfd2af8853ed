import { problem } from '../../rules/rate-limit-config.error.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { RuleHit } from '../../rules/rule-hit.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import type { HttpRequest } from '../../http/subject.js';
import { allowListOf } from '../rules/allow-list.js';
import { sourcesOf, type SubjectSources } from '../rules/by.js';
import type { Exchange } from './exchange.js';
import type { InvalidValues } from './invalid-values.js';
import { dynamicFields, PerRequestRule, sampleOf } from './per-request-rule.js';
import type { CountWhen, OnMissingSubject, RouteRuleFields } from '../rules/route-rule.js';
import type { RuleFields } from '../rules/rule-layers.js';
import type { RequestValues } from './request-values.js';
import { fallbackSubject, subjectOf, UNUSABLE, type FoundSubject, type SubjectOf } from './subject-of.js';

/** A hit with when it counts: always, unless it says otherwise. */
export interface RouteHit extends RuleHit {
  readonly count?: CountWhen;
}

/**
 * What a rule says of one request: its hits, that it does not apply, that there is no subject, or that it
 * cannot be evaluated and fails closed.
 */
export type Applied = readonly RouteHit[] | 'skip' | 'deny' | 'unavailable' | NoAddress;

/** A rule on a route, or what stands for rules that are wrong. */
export type AppliedLimit = Pick<RouteLimit, 'name' | 'apply'> & Partial<Pick<RouteLimit, 'watch'>>;

/** Why a request has no IP address: its framework sees none, or its client has hung up. */
export type NoAddress = 'no-address' | 'hung-up';

/** Gives a rule its place in the store, see `RateLimiter.keyed`. */
export type KeyRule = (rule: CompiledRule, owner?: string) => KeyedRule;

const OUTCOMES: Record<OnMissingSubject, string> = {
  ip: 'counts by its IP',
  skip: 'is allowed without this rule',
  deny: 'is denied',
};

/** A rule on a route, made ready once: turns a request into hits. */
export class RouteLimit {
  readonly name: string;
  /** What messages call the rule. */
  readonly path: string;
  readonly sources: SubjectSources;
  /** Whether requests may be counted by the client's IP. */
  readonly needsAddress: boolean;
  /** Whether a request without the subject passes unlimited. */
  readonly skipsMissing: boolean;
  /** Whether the rule denies requests; a shadow rule does not. */
  readonly isEnforced: boolean;
  /** Looks at requests for signs of a wrong setup; absent once nothing is left to find out. */
  watch: ((exchange: Exchange, values: RequestValues) => void) | undefined;
  /** Looks at requests without the subject; absent if there is nothing to find out. */
  watchMissing: ((request: HttpRequest) => void) | undefined;
  readonly fields: RuleFields & RouteRuleFields & { readonly name: string };
  /** The rule as it stands when nothing in it depends on the request. */
  private readonly fixed: KeyedRule | undefined;
  private readonly perRequest: PerRequestRule | undefined;
  private readonly isConditional: boolean;
  private readonly subjectOf: SubjectOf;
  private readonly isAllowed: ((request: HttpRequest) => boolean) | undefined;
  readonly keyed: (rule: CompiledRule) => KeyedRule;

  /**
   * @param owner the route that the counter belongs to
   * @throws RateLimitConfigError if the rule is wrong
   */
  constructor(
    fields: RuleFields,
    readonly owner: string,
    keyed: KeyRule,
    private readonly invalid: InvalidValues,
  ) {
    this.fields = fields as RuleFields & { readonly name: string };
    this.name = fields['name'] as string;
    this.path = `rule "${this.name}" of ${owner}`;
    const { by = 'ip', ipv6Prefix = 64, scope = 'route', allowList, skipIf } = this.fields;
    this.keyed = (rule) => keyed(rule, scope === 'route' ? owner : undefined);
    const { onMissingSubject = 'ip', mode } = this.fields;
    this.sources = sourcesOf(by);
    this.isEnforced = mode !== 'shadow';
    this.skipsMissing = onMissingSubject === 'skip';
    this.needsAddress =
      this.sources.ip || allowList !== undefined || (by !== 'everyone' && onMissingSubject === 'ip');
    const isDynamic = dynamicFields(fields).length > 0;
    const sample = sampleOf(fields, this.path);
    if (isDynamic) this.perRequest = new PerRequestRule(this.fields, this.path, this.keyed, invalid);
    else this.fixed = this.keyed(sample);
    this.isConditional = isDynamic || skipIf !== undefined || allowList !== undefined;
    this.subjectOf = subjectOf(by, ipv6Prefix, this.reportUnusable);
    this.isAllowed = allowList && allowListOf(allowList);
  }

  /** What a request without the subject gets, in the words of a message. */
  get outcomeOfMissing(): string {
    return OUTCOMES[this.fields.onMissingSubject ?? 'ip'];
  }

  /** What the rule says of a request; a promise only if something in the rule is asynchronous. */
  apply(request: HttpRequest, values: RequestValues): Applied | Promise<Applied> {
    return this.isConditional ? this.applyConditionally(request, values) : this.applyAlways(request, values);
  }

  private applyAlways(request: HttpRequest, values: RequestValues): Applied | Promise<Applied> {
    const subject = this.subjectOf(request, values);
    if (subject instanceof Promise) return subject.then((found) => this.hits(found, this.fixed!, request));
    return this.hits(subject, this.fixed!, request);
  }

  private async applyConditionally(request: HttpRequest, values: RequestValues): Promise<Applied> {
    if (this.isAllowed?.(request) || (await this.isSkipped(values))) return 'skip';
    const rule = this.fixed ?? (await this.perRequest!.of(values));
    if (typeof rule === 'string') return rule;
    return this.hits(await this.subjectOf(request, values), rule, request);
  }

  private async isSkipped(values: RequestValues): Promise<boolean> {
    const { skipIf, name } = this.fields;
    const isSkipped: unknown = skipIf && (await values.of(skipIf));
    if (isSkipped !== undefined && isSkipped !== null && typeof isSkipped !== 'boolean') {
      const reason = problem(`${this.path}.skipIf`, isSkipped, 'a function that returns true or false');
      this.invalid.report(name, 'skipIf', reason, 'The rule applies to such a request');
    }
    return isSkipped === true;
  }

  private readonly reportUnusable = (value: unknown): void => {
    const allowed = 'a function that gives a string or a number, or nothing';
    const outcome = this.fields.onMissingSubject === 'deny' ? OUTCOMES.deny : OUTCOMES.ip;
    const reason = problem(`${this.path}.by`, value, allowed);
    this.invalid.report(this.name, 'by', reason, `Such a request ${outcome}`);
  };

  private hits(subject: FoundSubject, rule: KeyedRule, request: HttpRequest): Applied {
    const { onMissingSubject = 'ip', ipv6Prefix = 64, count = 'all' } = this.fields;
    const isFound = subject !== undefined && subject !== UNUSABLE;
    if (!isFound) this.watchMissing?.(request);
    if (!isFound && onMissingSubject === 'deny') return this.enforced('deny');
    // A client that sends an unusable subject must not gain what one without a subject has.
    if (subject === undefined && onMissingSubject === 'skip') return 'skip';
    const found = isFound ? subject : fallbackSubject(request, ipv6Prefix);
    if (found === undefined) return this.enforced(request.socket?.destroyed ? 'hung-up' : 'no-address');
    const hits = rule.hits(found);
    return count === 'all' ? hits : hits.map((hit) => ({ ...hit, count }));
  }

  /** A rule in shadow mode denies no request. */
  private enforced<Refusal extends Applied>(refusal: Refusal): Refusal | 'skip' {
    return this.isEnforced ? refusal : 'skip';
  }
}
