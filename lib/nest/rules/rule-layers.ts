import { isFields, pickFields } from '../../contracts/fields.js';
import { callable, integer, oneOf, readFields, type OptionCheck } from '../../contracts/options.js';
import { checksOf, RULE_FIELDS } from '../../rules/rule-fields.js';
import { isAllowList } from '../../http/client-ip.js';
import { BY } from './by.js';

/** The fields of a rule while its layers are combined. */
export type RuleFields = Readonly<Record<string, unknown>>;

/** Names a field of a rule, in messages. */
export type FieldName = (field: string) => string;

/** Where a decorator names a rule of a handler: on the handler, on its class, or nowhere, if `rules` has it. */
export type NamedOn = 'handler' | 'class' | 'nowhere';

const NAMED_ON = Symbol.for('nestjs-redis-rate-limit:named-on');

/** Where a decorator names this rule. */
export function namedOn(rule: RuleFields): NamedOn {
  return (rule as { readonly [NAMED_ON]?: NamedOn })[NAMED_ON] ?? 'nowhere';
}

/** The rule with a note on where a decorator names it. */
export function namedAt(rule: RuleFields, place: NamedOn): RuleFields {
  return { ...rule, [NAMED_ON]: place };
}

const ORIGINS = Symbol.for('nestjs-redis-rate-limit:origins');

/** The layer that each field of a rule comes from: `rules.login`, `@RateLimit on LoginController`, `overrides.login`. */
export function originsOf(rule: RuleFields): Readonly<Record<string, string>> {
  return (rule as { readonly [ORIGINS]?: Readonly<Record<string, string>> })[ORIGINS] ?? {};
}

/** Returns a rule with the fields of a later layer, and a note on which fields that has set. */
export function withLayer(rule: RuleFields, layer: RuleFields, originOf: FieldName): RuleFields {
  const set = Object.keys(layer).filter((field) => field !== 'name' && layer[field] !== undefined);
  const origins = { ...originsOf(rule), ...Object.fromEntries(set.map((field) => [field, originOf(field)])) };
  return { ...namedAt(overlay(rule, layer), namedOn(rule)), [ORIGINS]: origins };
}

/** The fields that state a limit, besides the options of the algorithm. */
const OF_LIMIT = ['limit', 'window', 'algorithm', 'block', 'maxWait', 'trial', 'alerts', 'plan', 'plans'];

/** A rule without its limit: the fields that a rule with a complete limit inherits. */
export function withoutLimit(rule: RuleFields): RuleFields {
  const inherited = (fields: RuleFields): RuleFields =>
    pickFields(fields, (field) => Object.hasOwn(ROUTE_FIELDS, field) && !OF_LIMIT.includes(field));
  return { ...inherited(rule), [ORIGINS]: inherited(originsOf(rule)) };
}

/** A rule without a function that finds plans, if it has none: `defaults`, or a class, states one for rules with plans. */
export function withoutIdlePlan(rule: RuleFields): RuleFields {
  const { plan: _plan, plans, ...others } = rule;
  return Object.keys({ ...(plans as object | undefined) }).length === 0 ? others : rule;
}

const orFunction = (
  { allowed, accepts, ...check }: OptionCheck,
  of = 'the ExecutionContext',
): OptionCheck => ({
  ...check,
  allowed: `${allowed}, or a function of ${of}`,
  accepts: (value) => typeof value === 'function' || accepts(value),
});

/** The fields that may be functions of the request. */
const DYNAMIC = ['limit', 'window', 'cost'] as const;

/** Returns the fields that are functions of the request. */
export function dynamicFields(fields: RuleFields): (typeof DYNAMIC)[number][] {
  return DYNAMIC.filter((field) => typeof fields[field] === 'function');
}

/** The checks of the fields of a rule on a route, besides the options of its algorithm. */
export const ROUTE_FIELDS: Readonly<Record<string, OptionCheck>> = {
  ...RULE_FIELDS,
  limit: orFunction(RULE_FIELDS.limit),
  window: orFunction(RULE_FIELDS.window),
  cost: orFunction(RULE_FIELDS.cost),
  by: BY,
  scope: oneOf('route', 'shared'),
  onMissingSubject: oneOf('ip', 'skip', 'deny'),
  count: orFunction(oneOf('all', 'failures', 'successes'), 'the result'),
  settle: callable('of what the handler returned'),
  onError: oneOf('keep', 'refund'),
  plans: {
    allowed: 'an object of fields by plan, such as { free: { limit: 10 }, pro: { limit: 100 } }',
    accepts: (value) =>
      isFields(value) && Object.entries(value).every(([name, plan]) => name !== '' && isFields(plan)),
  },
  plan: callable('of the ExecutionContext that returns the name of a plan'),
  skipIf: callable('of the ExecutionContext'),
  allowList: {
    allowed: 'a list of IPs and CIDR ranges, such as ["10.0.0.0/8", "::1"]',
    accepts: isAllowList,
  },
  ipv6Prefix: integer(1, 128),
};

/** Returns the fields of one layer of a rule, with values that were given as text converted. */
export function readLayer(layer: RuleFields, algorithm: unknown): RuleFields {
  return readFields(layer, checksOf(algorithm, ROUTE_FIELDS));
}

/**
 * Returns a rule with the fields of a later layer. If that changes the algorithm, fields that the new
 * algorithm does not support are dropped: options of the old one, and calendar windows unless it is
 * `fixed-window`.
 */
function overlay(rule: RuleFields, nearer: RuleFields): RuleFields {
  const given = pickFields(nearer);
  const algorithm = given['algorithm'];
  const plans = plansOf(rule, given);
  if (algorithm === undefined || algorithm === rule['algorithm']) return { ...rule, ...given, ...plans };
  if (!RULE_FIELDS.algorithm.accepts(algorithm)) return { ...rule, ...given };
  const checks = checksOf(algorithm, ROUTE_FIELDS);
  const isKept = (field: string, value: unknown): boolean =>
    Object.hasOwn(ROUTE_FIELDS, field) && checks[field]?.accepts(value) === true;
  return { ...pickFields(rule, isKept), ...given, ...plans };
}

/** The plans of a rule with a later layer, whose own fields apply to every plan that the layer does not name. */
function plansOf(rule: RuleFields, given: RuleFields): { readonly plans?: RuleFields } {
  const { plans: known } = rule;
  const { plans: named = {} } = given;
  if (!isFields(known) || !isFields(named)) return {};
  const rest = (fields: unknown): RuleFields => pickFields(fields as object, (field) => !(field in given));
  const names = new Set([...Object.keys(known), ...Object.keys(named)]);
  const merged = Array.from(names, (name) => [
    name,
    { ...rest(known[name] ?? {}), ...(named[name] as RuleFields | undefined) },
  ]);
  return { plans: Object.fromEntries(merged) as RuleFields };
}
