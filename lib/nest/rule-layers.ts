import type { OptionCheck } from '../algorithms/definition.js';
import { problem } from '../core/rate-limit-config.error.js';
import { algorithmOf, RULE_FIELDS } from '../core/rule.js';
import { isBy } from './subject-of.js';
import { isAllowList } from './allow-list.js';

/** The fields of a rule while it is put together, layer by layer. */
export type RuleFields = Readonly<Record<string, unknown>>;

/** A rule after some layers: its fields, and whether a layer has taken it off the route. */
export interface LayeredRule {
  readonly fields: RuleFields;
  readonly skipped: boolean;
}

const isFunction = (value: unknown): boolean => typeof value === 'function';

const orFunction = ({ allowed, accepts }: OptionCheck): OptionCheck => ({
  allowed: `${allowed}, or a function of the ExecutionContext`,
  accepts: (value) => isFunction(value) || accepts(value),
});

const oneOf = (...values: readonly string[]): OptionCheck => ({
  allowed: values.map((value) => `"${value}"`).join(', '),
  accepts: (value) => values.includes(value as string),
});

/** What the fields of a rule on a route may be, besides its algorithm's options. */
export const ROUTE_FIELDS: Readonly<Record<string, OptionCheck>> = {
  ...RULE_FIELDS,
  limit: orFunction(RULE_FIELDS.limit),
  window: orFunction(RULE_FIELDS.window),
  cost: orFunction(RULE_FIELDS.cost),
  by: {
    allowed: '"ip", "user", "api-key", "everyone", the name of a header, a function, or a list of these',
    accepts: isBy,
  },
  scope: oneOf('route', 'shared'),
  onMissingSubject: oneOf('ip', 'skip', 'deny'),
  skipIf: { allowed: 'a function of the ExecutionContext', accepts: isFunction },
  allowList: {
    allowed: 'a list of IPs and CIDR ranges, such as ["10.0.0.0/8", "::1"]',
    accepts: isAllowList,
  },
  ipv6Prefix: {
    allowed: 'an integer from 1 to 128',
    accepts: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 128,
  },
};

/**
 * Says what is wrong with the fields of one layer, for a rule of the given algorithm.
 *
 * @param path what a message calls a field
 */
export function layerProblems(
  path: (field: string) => string,
  layer: RuleFields,
  algorithm: unknown,
): string[] {
  if (algorithm !== undefined && !RULE_FIELDS.algorithm.accepts(algorithm)) {
    return 'algorithm' in layer ? [problem(path('algorithm'), algorithm, RULE_FIELDS.algorithm.allowed)] : [];
  }
  const definition = algorithmOf(algorithm as string | undefined);
  const checks: Readonly<Record<string, OptionCheck>> = { ...ROUTE_FIELDS, ...definition.options };
  return Object.entries(layer).flatMap(([field, value]) => {
    if (value === undefined) return [];
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (!check)
      return [
        `${path(field)}: no such option of ${definition.name}; allowed: ${Object.keys(checks).join(', ')}`,
      ];
    return check.accepts(value) ? [] : [problem(path(field), value, check.allowed)];
  });
}

/**
 * A rule with a nearer layer on top, field by field. When the nearer one changes the algorithm, the
 * options of the old one go, since they mean nothing to the new.
 */
export function overlay(rule: RuleFields, nearer: RuleFields): RuleFields {
  const given = Object.fromEntries(Object.entries(nearer).filter(([, value]) => value !== undefined));
  const algorithm = given['algorithm'];
  if (algorithm === undefined || algorithm === rule['algorithm']) return { ...rule, ...given };
  const kept = Object.entries(rule).filter(([field]) => Object.hasOwn(ROUTE_FIELDS, field));
  return { ...Object.fromEntries(kept), ...given };
}
