import { isFields } from '../../contracts/fields.js';
import { problem, RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { SourcedRule } from '../../contracts/rule-source.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import { programSubject } from '../programs/program-subject.js';
import { Exceptions } from '../request/exceptions.js';
import { dynamicFields, sampleOf } from '../request/per-request-rule.js';
import type { LiveChange } from '../request/route-limit.js';
import { withLayer } from '../rules/live-layer.js';
import type { By } from '../rules/route-rule.js';
import type { RuleFields } from '../rules/rule-layers.js';

/** A change, with its end in milliseconds of this process's monotonic clock. */
export interface HeldRule extends SourcedRule {
  readonly until: number;
}

/** The live changes of one rule. */
export interface RuleChanges {
  /** The change for all subjects. */
  readonly layer: HeldRule | undefined;
  readonly exceptions: readonly HeldRule[];
}

/** What distinguishes changes: everything but their time. */
export function textOf({ layer, exceptions }: RuleChanges): string {
  return JSON.stringify([layer, ...exceptions], (key, value: unknown) =>
    key === 'until' || key === 'expiresInMs' ? undefined : value,
  );
}

/** Returns the changes that have not ended. */
export function unexpired({ layer, exceptions }: RuleChanges): RuleChanges {
  const now = performance.now();
  return {
    layer: layer && layer.until > now ? layer : undefined,
    exceptions: exceptions.filter(({ until }) => until > now),
  };
}

/** Returns the changes of each rule by its name. */
export function changesByRule(entries: readonly HeldRule[]): Map<string, RuleChanges> {
  const changes = new Map<string, RuleChanges>();
  for (const entry of entries) {
    const { layer, exceptions } = changes.get(entry.rule) ?? { layer: undefined, exceptions: [] };
    const isOfSubject = entry.subject !== undefined;
    changes.set(entry.rule, {
      layer: isOfSubject ? layer : entry,
      exceptions: isOfSubject ? [...exceptions, entry] : exceptions,
    });
  }
  return changes;
}

/** What a rule is, besides its fields. */
export interface ChangedRule {
  readonly fields: RuleFields;
  /** The option `by` of the rule; `undefined` if any subject is allowed. */
  readonly by: By | readonly By[] | undefined;
  /** Returns a rule with its keys. */
  readonly keyed: (rule: CompiledRule, counter?: string) => KeyedRule;
}

/** @throws RateLimitConfigError if the changes do not fit the rule */
export function changeOf(rule: ChangedRule, { layer, exceptions }: RuleChanges): LiveChange {
  const path = `live rule "${String(rule.fields['name'])}"`;
  const { fields, problems } = layer
    ? withLayer(rule.fields, layer.fields, path)
    : { fields: rule.fields, problems: [] };
  if (problems.length > 0) throw new RateLimitConfigError(problems);
  if (layer && Object.keys(layer.fields).length === 0) {
    throw new RateLimitConfigError([problem(path, layer.fields, 'an object with fields of a rule')]);
  }
  const changed = { ...rule, fields };
  const counter = layer?.counter;
  return { fields, counter, exceptions: exceptionsOf(changed, exceptions, counter, path) };
}

function exceptionsOf(
  rule: ChangedRule,
  entries: readonly SourcedRule[],
  counterOfRule: string | undefined,
  path: string,
): Exceptions | undefined {
  if (entries.length === 0) return undefined;
  const ipv6Prefix = (rule.fields['ipv6Prefix'] as number | undefined) ?? 64;
  const subjectOf = programSubject(rule.by, ipv6Prefix, path);
  const exceptions = new Exceptions();
  for (const { subject, fields, counter = counterOfRule } of entries) {
    const of = `${path} for subject ${JSON.stringify(subject)}`;
    const excepted = fields === 'allow' ? fields : rule.keyed(compiled(rule.fields, fields, of), counter);
    exceptions.add(subjectOf(subject!), excepted);
  }
  return exceptions;
}

function compiled(rule: RuleFields, exception: unknown, path: string): CompiledRule {
  if (exception === 'deny') return sampleOf(denying(rule), path);
  if (!isFields(exception)) {
    throw new RateLimitConfigError([`${path}: allowed: fields of the rule, "allow" or "deny"`]);
  }
  const { fields, problems } = withLayer(rule, exception, path);
  const dynamic = dynamicFields(fields).map(
    (field) => `${path}.${field}: a function in the rule; write a value`,
  );
  if (problems.length + dynamic.length > 0) throw new RateLimitConfigError([...problems, ...dynamic]);
  return sampleOf(fields, path);
}

/** A rule that denies everything. */
function denying({ prefetch: _prefetch, trial: _trial, ...rule }: RuleFields): RuleFields {
  return { ...rule, limit: 0, window: typeof rule['window'] === 'function' ? '1m' : rule['window'], cost: 1 };
}
