import { compileRule } from '../core/compile-rule.js';
import { readCount } from '../contracts/count.js';
import { RULE_FIELDS } from '../core/rule-fields.js';
import type { Subject } from '../core/key.js';
import { problem, RateLimitConfigError } from '../core/rate-limit-config.error.js';
import type { KeyedRule } from '../core/keyed-rule.js';
import type { RuleHit } from '../core/rule-hit.js';
import type { CompiledRule } from '../core/compiled-rule.js';
import type { AnyRule } from '../core/rule.js';
import type { HttpRequest } from '../http/subject.js';
import { allowListOf } from './allow-list.js';
import { sourcesOf, type SubjectSources } from './by.js';
import type { Exchange } from './exchange.js';
import { InvalidValueError } from './invalid-value.error.js';
import type { InvalidValues } from './invalid-values.js';
import type { ChargeWhen, RouteRuleFields } from './route-rule.js';
import { ROUTE_FIELDS, type RuleFields } from './rule-layers.js';
import type { RequestValues } from './request-values.js';
import { fallbackSubject, subjectOf, type SubjectOf } from './subject-of.js';

/** A hit with when it counts: always, unless it says otherwise. */
export interface RouteHit extends RuleHit {
  readonly charge?: ChargeWhen;
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

const DYNAMIC = ['limit', 'window', 'cost'] as const;

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
  /** Whether the rule denies requests; an observed rule does not. */
  readonly isEnforced: boolean;
  /** Looks at requests for signs of a wrong setup; absent once nothing is left to find out. */
  watch: ((exchange: Exchange) => void) | undefined;
  readonly fields: RuleFields & RouteRuleFields & { readonly name: string };
  /** The rule as it stands when nothing in it depends on the request. */
  private readonly fixed: KeyedRule | undefined;
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
    this.isEnforced = mode !== 'observe';
    this.skipsMissing = onMissingSubject === 'skip';
    this.needsAddress =
      this.sources.ip || allowList !== undefined || (by !== 'everyone' && onMissingSubject === 'ip');
    const isDynamic = dynamicFields(fields).length > 0;
    const sample = sampleOf(fields, this.path);
    this.fixed = isDynamic ? undefined : this.keyed(sample);
    this.isConditional = isDynamic || skipIf !== undefined || allowList !== undefined;
    this.subjectOf = subjectOf(by, ipv6Prefix, this.path);
    this.isAllowed = allowList && allowListOf(allowList);
  }

  /** What the rule says of a request; a promise only if something in the rule is asynchronous. */
  apply(request: HttpRequest, values: RequestValues): Applied | Promise<Applied> {
    try {
      const applied = this.isConditional
        ? this.applyConditionally(request, values)
        : this.applyAlways(request, values);
      return applied instanceof Promise ? applied.catch(this.undecided) : applied;
    } catch (error) {
      return this.undecided(error);
    }
  }

  private readonly undecided = (error: unknown): Applied => this.invalid.decide(this.fields, error);

  private applyAlways(request: HttpRequest, values: RequestValues): Applied | Promise<Applied> {
    const subject = this.subjectOf(request, values);
    if (subject instanceof Promise) return subject.then((found) => this.hits(found, this.fixed!, request));
    return this.hits(subject, this.fixed!, request);
  }

  private async applyConditionally(request: HttpRequest, values: RequestValues): Promise<Applied> {
    if (this.isAllowed?.(request) || (await this.isSkipped(values))) return 'skip';
    const rule = this.fixed ?? this.keyed(await this.compileFor(values));
    return this.hits(await this.subjectOf(request, values), rule, request);
  }

  private async isSkipped(values: RequestValues): Promise<boolean> {
    const { skipIf, name } = this.fields;
    const isSkipped: unknown = skipIf && (await values.of(skipIf));
    if (isSkipped !== undefined && isSkipped !== null && typeof isSkipped !== 'boolean') {
      const reason = problem(`${this.path}.skipIf`, isSkipped, 'a function that returns true or false');
      this.invalid.report(name, reason, 'The rule applies to such a request; correct the function.');
    }
    return isSkipped === true;
  }

  private hits(subject: Subject | undefined, rule: KeyedRule, request: HttpRequest): Applied {
    const { onMissingSubject = 'ip', ipv6Prefix = 64, charge = 'always' } = this.fields;
    if (subject === undefined && onMissingSubject !== 'ip') return this.enforced(onMissingSubject);
    const found = subject ?? fallbackSubject(request, ipv6Prefix);
    if (found === undefined) return this.enforced(request.socket?.destroyed ? 'hung-up' : 'no-address');
    const hits = rule.hits(found);
    return charge === 'always' ? hits : hits.map((hit) => ({ ...hit, charge }));
  }

  /** A rule that is only observed refuses no request. */
  private enforced<Refusal extends Applied>(refusal: Refusal): Refusal | 'skip' {
    return this.isEnforced ? refusal : 'skip';
  }

  private async compileFor(values: RequestValues): Promise<CompiledRule> {
    const { limit, window, cost = 1 } = this.fields;
    const resolved = { limit: await values.of(limit), window: await values.of(window) };
    const given = await values.of(cost);
    const permits = readCount(given);
    if (!RULE_FIELDS.cost.accepts(permits)) {
      throw new InvalidValueError([problem(`${this.path}.cost`, given, RULE_FIELDS.cost.allowed)]);
    }
    return withCost(this.compile({ ...this.fields, ...resolved, cost: 0 }), permits as number);
  }

  /** @throws InvalidValueError if what functions returned makes a rule that could not be written */
  private compile(fields: RuleFields): CompiledRule {
    try {
      return compileRule(ruleOf(fields), this.path);
    } catch (error) {
      throw error instanceof RateLimitConfigError ? new InvalidValueError(error.problems) : error;
    }
  }
}

/** The part of a route's rule that the core knows. */
function ruleOf(fields: RuleFields): AnyRule {
  const own = Object.entries(fields).filter(
    ([field]) => Object.hasOwn(RULE_FIELDS, field) || !Object.hasOwn(ROUTE_FIELDS, field),
  );
  return Object.fromEntries(own) as unknown as AnyRule;
}

/** Limits and windows of which a rule that depends on the request has to be able to live with some. */
const SAMPLES = [1, 1e3, 1e6, 1e9].flatMap((limit) => ['1s', '1d'].map((window) => ({ limit, window })));

/** The fields that are functions of the request. */
export function dynamicFields(fields: RuleFields): (typeof DYNAMIC)[number][] {
  return DYNAMIC.filter((field) => typeof fields[field] === 'function');
}

/**
 * The rule, with values in the place of functions that it can live with.
 *
 * @throws RateLimitConfigError if the rule is wrong whatever its functions may give
 */
export function sampleOf(fields: RuleFields, path: string): CompiledRule {
  const given = dynamicFields(fields);
  if (given.length === 0) return compileRule(ruleOf(fields), path);
  let refusal: unknown;
  for (const sample of SAMPLES) {
    const values = Object.fromEntries(given.map((field) => [field, { ...sample, cost: 0 }[field]]));
    try {
      return compileRule(ruleOf({ ...fields, ...values }), path);
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal as RateLimitConfigError;
}

function withCost(rule: CompiledRule, cost: number): CompiledRule {
  return { ...rule, cost, candidate: rule.candidate && { ...rule.candidate, cost } };
}
