import { isFields, pickFields } from '../../contracts/fields.js';
import type { Duration } from '../../contracts/duration.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { CompiledRule, Resolved } from '../../rules/compiled-rule.js';
import type { CacheLimit, KeyedRule } from '../../rules/keyed-rule.js';
import type { AnyRule } from '../../rules/rule.js';
import { RULE_FIELDS } from '../../rules/rule-fields.js';
import type { Subject } from '../../rules/subject.js';
import type { RouteRuleFields, CountedBy } from './route-rule.js';
import { dynamicFields, ROUTE_FIELDS, type RuleFields } from './rule-layers.js';
import type { ExceptionsBySubject, HeldRule, RuleChanges } from './rule-changes.js';

/** Gives the rules of the table their keys. */
export interface RuleKeys {
  /** Limits what all rules cache together. */
  readonly cacheLimit: CacheLimit;
  /** @param fields the fields that are compiled, with all their layers */
  keyed(rule: CompiledRule, place: RulePlace, fields: RuleFields, counter: string | undefined): KeyedRule;
}

/** Where a rule applies, and how it gets its keys. */
export interface RulePlace {
  /** The name of the rule in messages. */
  readonly path: string;
  /** The option `by` of the rule; `undefined` if programs may pass any subject. */
  readonly by: CountedBy | undefined;
  /** The handler in messages, such as `OrdersController.list`; absent for a rule of the module. */
  readonly owner?: string | undefined;
  /** The route that the counter belongs to, in keys; absent if routes share it. */
  readonly route?: string | undefined;
  readonly keys: RuleKeys;
}

/** The plan of a request, or the values of functions. */
export interface RequestLayer {
  readonly plan?: string | undefined;
  readonly values?: Resolved;
}

/**
 * Compiles the fields of a rule that has no functions.
 *
 * @param weightNameOf returns the name of a weight in `share` as subjects are counted
 * @throws RateLimitConfigError if the rule is invalid
 */
export function compileFields(
  fields: RuleFields,
  path: string,
  weightNameOf?: (name: string) => string,
): CompiledRule {
  const isOwn = (field: string): boolean =>
    Object.hasOwn(RULE_FIELDS, field) || !Object.hasOwn(ROUTE_FIELDS, field);
  return compileRule(pickFields(fields, isOwn) as unknown as AnyRule, path, weightNameOf);
}

/** A rule after its layers: module, decorators, overrides and live change. It is the same for every request. */
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
  exceptions: ExceptionsBySubject | undefined;

  /** @throws RateLimitConfigError if the rule is invalid */
  constructor(
    readonly fields: RuleFields & RouteRuleFields & { readonly name: string },
    protected readonly place: RulePlace,
    private readonly changes?: RuleChanges,
  ) {
    const compiled = this.compile(fields, place.path);
    this.dynamic = dynamicFields(fields);
    this.isHeld = compiled.algorithm.leases === true;
    this.maxWaitMs = compiled.maxWaitMs ?? 0;
    this.isConditional =
      this.maxWaitMs > 0 ||
      [...this.dynamic, fields.plan, fields.skipIf, fields.allowList].some(Boolean) ||
      (fields.mode === 'shadow' && [fields.by].flat().some((part) => typeof part === 'function')) ||
      changes?.exceptions.some((each) => isFields(each.fields) && 'maxWait' in each.fields) === true;
    this.own = this.keyed(compiled, fields);
  }

  /** @throws RateLimitConfigError if the rule is invalid */
  protected compile(fields: RuleFields, path: string): CompiledRule {
    return compileFields(fields, path);
  }

  /**
   * Returns the rule of a request with a plan of the rule, or with the values of its functions. A rule with values has no
   * cost of its own.
   *
   * @throws RateLimitConfigError if the values are invalid
   */
  for(_layer: RequestLayer): KeyedRule {
    return this.own;
  }

  /**
   * Returns the rule of a subject with an exception, `'allow'` if no rule applies to it; `undefined` without exception.
   *
   * @param plan the plan of the request, whose fields the exception overrides
   */
  exceptionOf(_subject: Subject, _plan?: string): KeyedRule | 'allow' | undefined {
    return undefined;
  }

  /**
   * Returns the rule of each counter that a subject can have: without and with each plan, and each of these with its exception.
   *
   * @param window the window of the counters, for a rule whose window is a function
   */
  every(_subject: Subject, _window: Duration | undefined): readonly KeyedRule[] {
    return [this.own];
  }

  protected keyed(rule: CompiledRule, fields: RuleFields, exception?: HeldRule): KeyedRule {
    const changes = [exception, this.changes?.layer];
    const own = exception?.fields;
    const setsLimit = own === 'deny' || (typeof own === 'object' && 'limit' in own);
    const limiting = setsLimit ? [exception] : changes; // The end of the rule's change leaves the exception's limit.
    const until = limiting.find((change) => change && change.until < Infinity)?.until;
    const counter = changes.find((change) => change?.counter !== undefined)?.counter;
    const ending = until === undefined ? rule : { ...rule, until };
    return this.place.keys.keyed(ending, this.place, fields, counter);
  }
}
