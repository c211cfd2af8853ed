import type { Duration } from '../../contracts/duration.js';
import { problemsOf, rejectAny } from '../../contracts/rate-limit-config.error.js';
import type { CompiledRule, Resolved } from '../../rules/compiled-rule.js';
import type { CacheLimit, KeyedRule } from '../../rules/keyed-rule.js';
import { copyOfText, type Subject } from '../../rules/subject.js';
import { compileFields, dynamicFields } from './compile-fields.js';
import type { RouteRuleFields, CountedBy } from './route-rule.js';
import type { RuleFields } from './rule-layers.js';
import {
  exceptionKey,
  exceptionsBySubject,
  livePath,
  resolvedFields,
  textOfFields,
  type ExceptionsBySubject,
  type HeldRule,
  type RuleChanges,
} from './rule-changes.js';

/** Where a rule applies, and how it gets its keys. */
export interface RulePlace {
  /** The name of the rule in messages. */
  readonly path: string;
  /** The option `by` of the rule; `undefined` if programs may pass any subject. */
  readonly by: CountedBy | undefined;
  /** Limits what all rules cache together. */
  readonly cacheLimit: CacheLimit;
  /** Returns a rule with its keys. */
  readonly keyed: (rule: CompiledRule, fields: RuleFields, counter: string | undefined) => KeyedRule;
}

/** Estimated heap of a rule that is compiled for a plan, an exception or values, in bytes. */
const VARIANT_BYTES = 2000;

/**
 * A rule after its layers: module, decorators, overrides and live change. The last layer is that of a request: its plan,
 * the exception of its subject, or the values of functions.
 */
export class EffectiveRule {
  /** The rule without a layer of the request, with sample values instead of functions. */
  readonly own: KeyedRule;
  /** Longest wait of a request in milliseconds; 0 if none waits. */
  readonly maxWaitMs: number;
  /** Whether permits are held until they are released. */
  readonly isHeld: boolean;
  /** The fields whose values are functions of the request. */
  readonly dynamic: readonly string[];
  /** Whether more than its subject decides what applies to a request. */
  readonly isConditional: boolean;
  /** The exceptions by subject; absent if there are none. */
  readonly exceptions: ExceptionsBySubject | undefined;
  /** The rules of plans, exceptions and values that requests have used. */
  private variants: Map<unknown, KeyedRule> | undefined;

  /** @throws RateLimitConfigError if the rule or one of its plans is invalid, or the subject of an exception */
  constructor(
    readonly fields: RuleFields & RouteRuleFields & { readonly name: string },
    private readonly place: RulePlace,
    private readonly changes?: RuleChanges,
  ) {
    const { path, by } = place;
    const { ipv6Prefix = 64 } = fields;
    const compiled = compileFields(fields, path);
    this.dynamic = dynamicFields(fields);
    this.isHeld = compiled.algorithm.leases === true;
    this.maxWaitMs = compiled.maxWaitMs ?? 0;
    this.isConditional =
      this.maxWaitMs > 0 || [...this.dynamic, fields.plan, fields.skipIf, fields.allowList].some(Boolean);
    this.own = this.keyed(compiled, fields);
    this.checkPlans();
    if (changes && changes.exceptions.length > 0)
      this.exceptions = exceptionsBySubject(changes.exceptions, by, ipv6Prefix, livePath(fields));
  }

  /**
   * Returns the rule of a request with a plan of the rule, or with the values of its functions. A rule with values has no
   * cost of its own.
   *
   * @throws RateLimitConfigError if the values are invalid
   */
  for({ plan, values }: { readonly plan?: string | undefined; readonly values?: Resolved }): KeyedRule {
    const { path } = this.place;
    if (plan !== undefined) return this.variant(plan, { plan }, `${path}.plans.${plan}`);
    return values ? this.variant(textOf(values), copied(values), path) : this.own;
  }

  /** Returns the rule of a subject with an exception, `'allow'` if no rule applies to it; `undefined` without exception. */
  exceptionOf(subject: Subject): KeyedRule | 'allow' | undefined {
    const exception = this.exceptions?.get(exceptionKey(subject));
    return exception && this.excepted(exception);
  }

  /**
   * Compiles the exceptions, which are compiled when they are used otherwise.
   *
   * @param checked the texts of the rules that were checked
   * @throws RateLimitConfigError if an exception does not fit the rule
   */
  checkExceptions(checked: Set<string>): void {
    const isNew = (text: string): boolean => checked.size < checked.add(text).size;
    const rule = textOfFields(this.fields);
    if (!this.exceptions || !isNew(rule)) return;
    for (const exception of this.exceptions.values()) {
      if (isNew(`${rule} ${JSON.stringify(exception.fields)}`)) this.excepted(exception);
    }
  }

  /**
   * Returns the rule of each counter that a subject can have: without and with its exception, and with each plan.
   *
   * @param window the window of the counters, for a rule whose window is a function
   */
  every(subject: Subject, window: Duration | undefined): readonly KeyedRule[] {
    const { fields, place } = this;
    const own = this.dynamic.includes('window')
      ? this.keyed(compileFields({ ...fields, window }, place.path), fields)
      : this.own;
    const plans = Object.keys(fields.plans ?? {}).map((plan) => this.for({ plan }));
    const excepted = this.exceptionOf(subject);
    return [own, ...plans, ...(excepted && excepted !== 'allow' ? [excepted] : [])];
  }

  /** Clears the cache of this rule. */
  forget(): void {
    this.variants = undefined;
  }

  private excepted(exception: HeldRule): KeyedRule | 'allow' {
    const { fields, subject } = exception;
    if (fields === 'allow') return fields;
    const path = `${livePath(this.fields)} for subject ${JSON.stringify(subject)}`;
    return this.variant(exception, { exception: fields }, path, exception);
  }

  /** Returns the rule with a layer of the request, from the cache if possible. */
  private variant(key: unknown, resolved: Resolved, path: string, exception?: HeldRule): KeyedRule {
    const known = this.variants?.get(key);
    if (known) return known;
    const fields = resolvedFields(this.fields, resolved, path);
    const compiled = compileFields('limit' in resolved ? { ...fields, cost: 0 } : fields, path);
    const keyed = this.keyed({ ...compiled, resolved }, fields, exception);
    this.place.cacheLimit.add(this, VARIANT_BYTES);
    this.variants ??= new Map();
    this.variants.set(key, keyed);
    return keyed;
  }

  private keyed(rule: CompiledRule, fields: RuleFields, exception?: HeldRule): KeyedRule {
    const changes = [exception, this.changes?.layer];
    const until = changes.find((change) => change && change.until < Infinity)?.until;
    const counter = changes.find((change) => change?.counter !== undefined)?.counter;
    return this.place.keyed(until === undefined ? rule : { ...rule, until }, fields, counter);
  }

  /** @throws RateLimitConfigError listing the problems of all plans */
  private checkPlans(): void {
    const { path } = this.place;
    const { plans = {}, plan } = this.fields;
    const isShared = this.fields['share' as keyof RouteRuleFields] !== undefined;
    if (!this.fields.plans && !plan) return;
    const problems: string[] = [];
    if (!plan) {
      problems.push(
        `${path}.plan: missing, and the rule has plans; allowed: a function that returns the name of a plan`,
      );
    }
    if (isShared) {
      problems.push(`${path}.plans: a rule with share has one limit for all; give subjects weights in share`);
    }
    for (const [name, given] of Object.entries(plans)) {
      problems.push(...problemsOf(() => this.for({ plan: name })));
      if ('algorithm' in given)
        problems.push(`${path}.plans.${name}.algorithm: all plans of a rule have its algorithm`);
    }
    rejectAny(problems);
  }
}

/** Returns a key that only valid values have; a value of another type is compiled, and rejected, each time. */
function textOf(values: Resolved): unknown {
  const isPlain = Object.values(values).every(
    (value) => value === undefined || typeof value === 'string' || Number.isFinite(value),
  );
  return isPlain ? JSON.stringify(values) : values;
}

/** Returns the values without references to longer texts: they are kept, and may be parts of what a client sent. */
function copied(values: Resolved): Resolved {
  const copies = Object.entries(values).map(([field, value]) => [
    field,
    typeof value === 'string' ? copyOfText(value) : value,
  ]);
  return Object.fromEntries(copies) as Resolved;
}
