import { isDeepStrictEqual } from 'node:util';
import { parseDuration } from '../../contracts/duration.js';
import { pickFields } from '../../contracts/fields.js';
import { entryOf } from '../../contracts/entry-of.js';
import { shown } from '../../contracts/shown.js';
import { DEFAULT_ALGORITHM } from '../../rules/rule.js';
import { countBySameSubject } from './by.js';
import { capacitiesInPermits } from './compile-varied.js';
import type { RuleFields } from './rule-layers.js';

/** The fields of a shared rule that a decorator may override, since they do not need another counter. */
const SHARED_FIELDS: readonly string[] = ['limit', 'cost', 'count', 'settle', 'onError', 'skipIf', 'maxWait'];

/** The values of unset fields that have a default. */
const DEFAULTS: RuleFields = {
  algorithm: DEFAULT_ALGORITHM,
  by: 'ip',
  onMissingSubject: 'ip',
  unit: 'requests',
  mode: 'enforce',
  per: 'cluster',
  ipv6Prefix: 64,
};

const FREE: readonly string[] = [...SHARED_FIELDS, 'name', 'scope'];

/** The first target of each shared rule, by its name. */
export type FirstTargets = Map<string, { readonly fields: RuleFields; readonly owner: string }>;

/**
 * Returns the problem of a shared rule that differs from its first target, since all use one counter with one window and
 * algorithm; `undefined` if it does not.
 */
export function sharedProblem(targets: FirstTargets, fields: RuleFields, owner: string): string | undefined {
  const first = entryOf(targets, fields['name'] as string, () => ({ fields, owner }));
  const names = new Set([...Object.keys(first.fields), ...Object.keys(fields)]);
  const [capacity] = capacitiesInPermits(fields);
  const field = [...names].find((each) => !isFree(each, fields) && !isSame(each, first.fields, fields));
  if (field === undefined) return undefined;
  return (
    `rule "${String(fields['name'])}" of ${owner}: ${field} is ${valueOf(field, fields)} here and ` +
    `${valueOf(field, first.fields)} in ${first.owner}, but a shared rule has one counter; ` +
    (field === 'limit'
      ? `write ${capacity} as a time, such as "10s", or scope: 'route'`
      : `allowed to differ: ${SHARED_FIELDS.join(', ')}, or any field with scope: 'route'`)
  );
}

/** The value of a field in messages. */
function valueOf(field: string, { [field]: value }: RuleFields): string {
  if (value !== undefined) return shown(value);
  return Object.hasOwn(DEFAULTS, field) ? `${shown(DEFAULTS[field])} (the default)` : 'not set';
}

function isSame(field: string, one: RuleFields, other: RuleFields): boolean {
  const [a, b] = [one[field] ?? DEFAULTS[field], other[field] ?? DEFAULTS[field]];
  if (field === 'by') return countBySameSubject(a, b);
  // Plans have the fields of later layers, which may differ.
  if (field === 'plans') return isDeepStrictEqual(fixedPlans(one), fixedPlans(other));
  const length = parseDuration(a);
  return isDeepStrictEqual(a, b) || (length !== undefined && length === parseDuration(b));
}

/** Plans without the fields that may differ between targets. */
function fixedPlans(rule: RuleFields): unknown {
  const fixed = (plan: RuleFields): RuleFields =>
    pickFields(plan, (field) => !isFree(field, { ...rule, ...plan }));
  const plans = Object.entries({ ...(rule['plans'] as Readonly<Record<string, RuleFields>> | undefined) });
  return Object.fromEntries(plans.map(([name, plan]) => [name, fixed(plan)]));
}

/** Whether a field may differ between the targets of a shared rule: a capacity in permits has another counter at each limit. */
function isFree(field: string, rule: RuleFields): boolean {
  return FREE.includes(field) && !(field === 'limit' && capacitiesInPermits(rule).length > 0);
}
