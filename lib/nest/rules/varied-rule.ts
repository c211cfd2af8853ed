import type { Duration } from '../../contracts/duration.js';
import { entryOf } from '../../contracts/entry-of.js';
import { problemsOf, rejectAny, rejectConfig } from '../../contracts/rate-limit-config.error.js';
import type { CompiledRule, Resolved } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import { subjectFromSource, type Subject } from '../../rules/subject.js';
import { compileVaried } from './compile-varied.js';
import { EffectiveRule, type RequestLayer } from './effective-rule.js';
import { programSubject } from './program-subject.js';
import type { RouteRuleFields } from './route-rule.js';
import type { RuleFields } from './rule-layers.js';
import {
  exceptionKey,
  exceptionsBySubject,
  livePath,
  resolvedFields,
  textOfFields,
  type HeldRule,
  type RuleChanges,
} from './rule-changes.js';

export { changedFields } from './rule-changes.js';
export { sharedProblem } from './shared-rules.js';

const NO_PLAN = 'missing, and the rule has plans; allowed: a function that returns the name of a plan';

const SHARED = 'a rule with share has one limit for all; give subjects weights in share';

/** Estimated heap of a rule that is compiled for a plan, an exception or values, in bytes. */
const VARIANT_BYTES = 2000;

/** A rule with a last layer, which is that of a request: its plan, the exception of its subject, or the values of functions. */
export class VariedRule extends EffectiveRule {
  /** The rules of plans, exceptions and values that requests have used. */
  private readonly variants = new Map<unknown, KeyedRule>();
  private readonly ref = new WeakRef(this.variants);

  /** @throws RateLimitConfigError if the rule or one of its plans is invalid, or the subject of an exception */
  constructor(...given: ConstructorParameters<typeof EffectiveRule>) {
    super(...given);
    this.checkPlans();
    const [fields, { by }, { exceptions = [] } = {}] = given;
    if (exceptions.length > 0)
      this.exceptions = exceptionsBySubject(exceptions, by, fields.ipv6Prefix ?? 64, livePath(fields));
  }

  protected override compile(fields: RuleFields, path: string): CompiledRule {
    return compileVaried({ by: this.place.by, ...fields }, path);
  }

  override for({ plan, values }: RequestLayer): KeyedRule {
    const { path } = this.place;
    if (plan !== undefined) return this.variant(plan, { plan }, `${path}.plans.${plan}`);
    return values ? this.variant(textOf(values), values, path) : this.own;
  }

  override exceptionOf(subject: Subject, plan?: string): KeyedRule | 'allow' | undefined {
    const exception = this.exceptions?.get(exceptionKey(subject));
    if (!exception) return undefined;
    const { fields } = exception;
    if (fields === 'allow') return fields;
    const key = plan === undefined ? exception : JSON.stringify([plan, exception.subject]);
    return this.variant(key, { plan, exception: fields }, this.pathOf(exception, plan), exception);
  }

  checkExceptions(
    { exceptions, standing = [] }: RuleChanges,
    checked: Set<string>,
    reject: (exception: HeldRule, problems: readonly string[]) => void,
  ): void {
    const { by } = this.place;
    const rule = `rule ${textOfFields([by, this.fields])}`;
    if (checked.has(rule)) return;
    checked.add(rule);
    const subjectOf = programSubject(by, this.fields.ipv6Prefix ?? 64, livePath(this.fields));
    const keyOf = ({ subject }: HeldRule): string => exceptionKey(subjectOf(subjectFromSource(subject!)));
    const bySubject = new Map(standing.map((each) => [keyOf(each), each]));
    for (const each of exceptions) {
      const check = (): void => {
        const key = keyOf(each);
        if (each.fields !== 'allow') for (const plan of this.plans) this.checkException(each, plan, checked);
        const other = entryOf(bySubject, key, () => each);
        if (other !== each)
          rejectConfig(`${this.pathOf(each)}: the same subject as ${JSON.stringify(other.subject)}`);
      };
      reject(each, problemsOf(check));
    }
  }

  private checkException(exception: HeldRule, plan: string | undefined, checked: Set<string>): void {
    const path = this.pathOf(exception, plan);
    const fields = resolvedFields(this.fields, { plan, exception: exception.fields }, path);
    const text = `fields ${textOfFields(fields)}`;
    if (!checked.has(text)) this.compile(fields, path);
    checked.add(text);
  }

  override every(subject: Subject, window: Duration | undefined): readonly KeyedRule[] {
    const { fields, place } = this;
    const own = this.dynamic.includes('window')
      ? this.keyed(this.compile({ ...fields, window }, place.path), fields)
      : this.own;
    const ofPlans = this.plans.flatMap((plan) => [
      plan === undefined ? own : this.for({ plan }),
      this.exceptionOf(subject, plan),
    ]);
    return ofPlans.filter((each) => each !== undefined && each !== 'allow');
  }

  private get plans(): readonly (string | undefined)[] {
    return [undefined, ...Object.keys(this.fields.plans ?? {})];
  }

  private pathOf({ subject }: HeldRule, plan?: string): string {
    const ofPlan = plan === undefined ? '' : ` with plan "${plan}"`;
    return `${livePath(this.fields)} for subject ${JSON.stringify(subject)}${ofPlan}`;
  }

  /** Returns the rule with a layer of the request, from the cache if possible. */
  private variant(key: unknown, resolved: Resolved, path: string, exception?: HeldRule): KeyedRule {
    const known = this.variants.get(key);
    if (known) return known;
    const fields = resolvedFields(this.fields, resolved, path);
    const compiled = this.compile('limit' in resolved ? { ...fields, cost: 0 } : fields, path);
    const keyed = this.keyed({ ...compiled, resolved }, fields, exception);
    this.place.keys.cacheLimit.add(this.ref, VARIANT_BYTES);
    this.variants.set(key, keyed);
    return keyed;
  }

  /** @throws RateLimitConfigError listing the problems of all plans */
  private checkPlans(): void {
    const { path } = this.place;
    const { plans = {}, plan } = this.fields;
    const isShared = this.fields['share' as keyof RouteRuleFields] !== undefined;
    if (!this.fields.plans && !plan) return;
    const problems: string[] = [];
    if (!plan) problems.push(`${path}.plan: ${NO_PLAN}`);
    if (isShared) problems.push(`${path}.plans: ${SHARED}`);
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
