import type { ExecutionContext } from '@nestjs/common';
import { keySuffix, type Subject } from '../core/key.js';
import type { RuleHit } from '../core/limiter.js';
import { problem, RateLimitConfigError } from '../core/rate-limit-config.error.js';
import { compileRule, RULE_FIELDS, type CompiledRule, type Rule } from '../core/rule.js';
import type { HttpRequest } from '../http/subject.js';
import { allowListOf } from './allow-list.js';
import type { RouteRuleFields } from './route-rule.js';
import type { RuleFields } from './rule-layers.js';
import { ROUTE_FIELDS } from './rule-layers.js';
import { fallbackSubject, subjectOf, type SubjectOf } from './subject-of.js';

/** What a rule says of one request: a hit, nothing (it does not apply), or that it has no subject. */
export type Applied = RuleHit | 'skip' | 'deny';

const DYNAMIC = ['limit', 'window', 'cost'] as const;

/** A rule on a route, made ready once: turns a request into a hit. */
export class RouteLimit {
  readonly name: string;
  /** The rule as it stands when nothing in it depends on the request. */
  private readonly compiled: CompiledRule | undefined;
  private readonly fields: RuleFields & RouteRuleFields;
  private readonly subjectOf: SubjectOf;
  private readonly allowed: ((request: HttpRequest) => boolean) | undefined;
  private readonly suffix: string;
  private readonly isPlain: boolean;

  /**
   * @param owner the route that the counter belongs to
   * @throws RateLimitConfigError if the rule is wrong
   */
  constructor(fields: RuleFields, owner: string) {
    this.fields = fields;
    this.name = fields['name'] as string;
    const { by = 'ip', ipv6Prefix = 64, scope = 'route', allowList, skipIf } = this.fields;
    const isDynamic = DYNAMIC.some((field) => typeof fields[field] === 'function');
    const sample = { ...fields, ...(isDynamic && placeholders(fields)) };
    const compiled = compileRule(ruleOf(sample), `rule "${this.name}" of ${owner}`);
    this.compiled = isDynamic ? undefined : compiled;
    this.suffix = keySuffix(compiled, scope === 'route' ? owner : undefined);
    this.subjectOf = subjectOf(by, ipv6Prefix);
    this.allowed = allowList && allowListOf(allowList);
    this.isPlain = !isDynamic && !skipIf && !allowList;
  }

  /** What the rule says of a request; a promise only if something in the rule is asynchronous. */
  apply(request: HttpRequest, context: ExecutionContext, values: RequestValues): Applied | Promise<Applied> {
    if (!this.isPlain) return this.applyConditionally(request, context, values);
    const subject = this.subjectOf(request, context);
    if (subject instanceof Promise) return subject.then((found) => this.hit(found, this.compiled!, request));
    return this.hit(subject, this.compiled!, request);
  }

  private async applyConditionally(
    request: HttpRequest,
    context: ExecutionContext,
    values: RequestValues,
  ): Promise<Applied> {
    if (this.allowed?.(request)) return 'skip';
    if (this.fields.skipIf && (await values.of(this.fields.skipIf))) return 'skip';
    const rule = this.compiled ?? (await this.compileFor(values));
    return this.hit(await this.subjectOf(request, context), rule, request);
  }

  private hit(subject: Subject | undefined, rule: CompiledRule, request: HttpRequest): Applied {
    const { onMissingSubject = 'ip', ipv6Prefix = 64 } = this.fields;
    if (subject === undefined) {
      if (onMissingSubject !== 'ip') return onMissingSubject;
      subject = fallbackSubject(request, ipv6Prefix);
    }
    return { rule, suffix: this.suffix, subject, cost: rule.cost };
  }

  private async compileFor(values: RequestValues): Promise<CompiledRule> {
    const { limit, window, cost = 1 } = this.fields;
    const resolved = {
      limit: await values.of(limit),
      window: await values.of(window),
    };
    const given = await values.of(cost);
    const path = `rule "${this.name}"${this.suffix}`;
    if (!RULE_FIELDS.cost.accepts(given)) {
      throw new RateLimitConfigError([problem(`${path}.cost`, given, RULE_FIELDS.cost.allowed)]);
    }
    return { ...compileRule(ruleOf({ ...this.fields, ...resolved, cost: 0 }), path), cost: given as number };
  }
}

/** The values that functions in rules give for one request: each function is called once. */
export class RequestValues {
  private readonly results = new Map<unknown, unknown>();

  constructor(private readonly context: ExecutionContext) {}

  of<Value>(value: Value | ((context: ExecutionContext) => Value | Promise<Value>)): Value | Promise<Value> {
    if (typeof value !== 'function') return value;
    if (!this.results.has(value)) {
      this.results.set(value, (value as (context: ExecutionContext) => unknown)(this.context));
    }
    return this.results.get(value) as Value | Promise<Value>;
  }
}

/**
 * A rule of the module as the core takes it.
 *
 * @throws RateLimitConfigError if there is none, or it depends on the request
 */
export function coreRule(name: string, fields: RuleFields | undefined): Rule {
  if (!fields) throw new RateLimitConfigError([`rule "${name}": not in the module's \`rules\``]);
  const dynamic = DYNAMIC.filter((field) => typeof fields[field] === 'function');
  if (dynamic.length > 0) {
    throw new RateLimitConfigError([
      `rule "${name}": depends on the request (${dynamic.join(', ')} are functions)`,
    ]);
  }
  return ruleOf(fields);
}

/** The part of a route's rule that the core knows. */
function ruleOf(fields: RuleFields): Rule {
  const own = Object.entries(fields).filter(
    ([field]) => Object.hasOwn(RULE_FIELDS, field) || !Object.hasOwn(ROUTE_FIELDS, field),
  );
  return Object.fromEntries(own) as unknown as Rule;
}

/** Values in the place of functions, so that the rest of the rule can be checked at start. */
function placeholders(fields: RuleFields): RuleFields {
  const limit = typeof fields['limit'] === 'function' ? 1 : fields['limit'];
  const window = typeof fields['window'] === 'function' ? '1s' : fields['window'];
  return { limit, window, cost: 0 };
}
