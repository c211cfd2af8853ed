import { isFields } from '../../contracts/fields.js';
import { problem, rejectAny, rejectConfig, rejectValue } from '../../contracts/rate-limit-config.error.js';
import type { SourcedRule } from '../../contracts/rule-source.js';
import { entryOf } from '../../contracts/entry-of.js';
import type { Resolved } from '../../rules/compiled-rule.js';
import { RULE_FIELDS } from '../../rules/rule-fields.js';
import { subjectFromSource, type Subject } from '../../rules/subject.js';
import { withLiveLayer } from './live-layer.js';
import { programSubject } from './program-subject.js';
import type { CountedBy } from './route-rule.js';
import { dynamicFields, type RuleFields } from './rule-layers.js';

/** A live change, with its end in milliseconds of this process's monotonic clock. */
export interface HeldRule extends SourcedRule {
  readonly until: number;
}

/** The live changes of one rule. */
export interface RuleChanges {
  /** The change for all subjects. */
  readonly layer: HeldRule | undefined;
  readonly exceptions: readonly HeldRule[];
  /** Exceptions that stay in force; absent if they need not be known. */
  readonly standing?: readonly HeldRule[];
}

/** The exceptions of a rule by subject, see `exceptionKey`. */
export type ExceptionsBySubject = ReadonlyMap<string, HeldRule>;

/** The exceptions of each list: a module may have a thousand of them, and a thousand routes. */
const indexed = new WeakMap<readonly HeldRule[], Map<string, ExceptionsBySubject>>();

/**
 * Returns exceptions by subject: one map for all rules that count alike.
 *
 * @throws RateLimitConfigError if a subject does not fit `by`
 */
export function exceptionsBySubject(
  exceptions: readonly HeldRule[],
  by: CountedBy | undefined,
  ipv6Prefix: number,
  path: string,
): ExceptionsBySubject {
  const maps = entryOf(indexed, exceptions, () => new Map<string, ExceptionsBySubject>());
  return entryOf(maps, textOfFields([by, ipv6Prefix]), () => {
    const subjectOf = programSubject(by, ipv6Prefix, path);
    const keyOf = ({ subject }: HeldRule): string => exceptionKey(subjectOf(subjectFromSource(subject!)));
    return new Map(exceptions.map((each) => [keyOf(each), each]));
  });
}

/** Returns the key of a subject's exception. A text never has the key of a list. */
export function exceptionKey(subject: Subject): string {
  return typeof subject === 'string' ? `=${subject}` : JSON.stringify(subject);
}

/** Returns a text that is equal for fields that are compiled to equal rules, whatever their functions return. */
export function textOfFields(fields: RuleFields | readonly unknown[]): string {
  return JSON.stringify(fields, (_, part: unknown) => (typeof part === 'function' ? 'function' : part));
}

/**
 * Returns the fields of a rule with the live change for all subjects.
 *
 * @throws RateLimitConfigError if the change does not fit the rule
 */
export function changedFields(rule: RuleFields, { layer }: RuleChanges): RuleFields {
  if (!layer) return rule;
  const path = livePath(rule);
  const fields = withLiveLayer(rule, layer.fields, path);
  if (Object.keys(layer.fields).length > 0) return fields;
  rejectValue(path, layer.fields, 'an object with fields of a rule');
}

/** The name of a live change in messages. */
export function livePath(rule: RuleFields): string {
  return `live rule "${String(rule['name'])}"`;
}

/**
 * Returns the fields of a rule for a request: with its plan and its exception, or with values instead of functions.
 *
 * @param path the name of the layer in messages
 * @throws RateLimitConfigError if the plan or the exception does not fit the rule
 */
export function resolvedFields(fields: RuleFields, resolved: Resolved, path: string): RuleFields {
  const { exception, plan } = resolved;
  const plans = new Map(Object.entries((fields['plans'] as object | undefined) ?? {}));
  const planned = plans.has(plan as string) ? withValues(fields, plans.get(plan as string), path) : fields;
  if (exception !== undefined) return exceptionFields(planned, exception, path);
  if (planned !== fields) return planned;
  const functions = dynamicFields(fields).filter((field) => field !== 'cost');
  const returned = functions.filter((field) => typeof resolved[field] === 'function');
  rejectAny(
    returned.map((field) => problem(`${path}.${field}`, resolved[field], RULE_FIELDS[field].allowed)),
  );
  return { ...fields, ...Object.fromEntries(functions.map((field) => [field, resolved[field]])) };
}

function exceptionFields(rule: RuleFields, exception: unknown, path: string): RuleFields {
  if (exception === 'deny') {
    const { prefetch: _prefetch, trial: _trial, window, ...others } = rule;
    return { ...others, limit: 0, window: typeof window === 'function' ? '1m' : window, cost: 1 };
  }
  if (!isFields(exception) || Object.keys(exception).length === 0)
    rejectValue(path, exception, 'fields of the rule, "allow" or "deny"');
  if ('plans' in exception)
    rejectConfig(
      `${path}.plans: an exception is for one subject, whatever its plan; write the fields themselves`,
    );
  if (rule['share'] !== undefined) {
    const fix = 'for a rule with share: "allow" or "deny"; give the subject a weight in share';
    rejectValue(path, exception, fix);
  }
  return withValues(rule, exception, path);
}

/** Returns a rule with a layer whose fields replace all functions. */
function withValues(rule: RuleFields, layer: unknown, path: string): RuleFields {
  const fields = withLiveLayer(rule, layer, path);
  const functions = dynamicFields(fields).map(
    (field) => `${path}.${field}: a function in the rule; write a value`,
  );
  rejectAny(functions);
  return fields;
}
