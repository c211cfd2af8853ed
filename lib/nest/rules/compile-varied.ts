import { readCount } from '../../contracts/options.js';
import {
  problem,
  type RateLimitConfigError,
  rejectAny,
  rejectValue,
} from '../../contracts/rate-limit-config.error.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import { algorithmOf } from '../../rules/rule-fields.js';
import { compileFields } from './effective-rule.js';
import { readerOf } from './program-subject.js';
import type { By } from './route-rule.js';
import { dynamicFields, type RuleFields } from './rule-layers.js';

/** Limits and windows that take the place of functions in the check at start: the rule must be valid with one of them. */
const SAMPLES = [1, 1e3, 1e6, 1e9].flatMap((limit) =>
  ['1s', '1d', 'day', 'month'].map((window) => ({ limit, window })),
);

/**
 * Compiles the fields of a rule, with sample values instead of its functions, and with the weights of its subjects.
 *
 * @throws RateLimitConfigError if the rule is invalid for every value that its functions may return
 */
export function compileVaried(fields: RuleFields, path: string): CompiledRule {
  const given = dynamicFields(fields);
  if (given.length === 0) return compileFields(fields, path, weightNameOf(fields, path));
  const ofOne = fields['share'] === undefined ? [] : given.filter((field) => field !== 'cost');
  const fix = 'a value, since all subjects of a rule with share have one limit and window';
  rejectAny(ofOne.map((field) => `${path}.${field}: got a function; allowed: ${fix}`));
  checkCapacity(fields, given, path);
  let rejection: unknown;
  for (const sample of SAMPLES) {
    const values = Object.fromEntries(given.map((field) => [field, { ...sample, cost: 0 }[field]]));
    try {
      return compileFields({ ...fields, ...values }, path, weightNameOf(fields, path));
    } catch (error) {
      rejection ??= error;
    }
  }
  throw rejection as RateLimitConfigError;
}

/** The options that are a number of permits or a time. A number of permits has another time, and counter, at each limit. */
const CAPACITIES = ['burst', 'queue'] as const;

/** Returns the names of the capacities that a rule states as a number of permits. */
export function capacitiesInPermits(fields: RuleFields): readonly string[] {
  if (algorithmOf(fields['algorithm'])?.leases) return [];
  return CAPACITIES.filter((name) => typeof readCount(fields[name]) === 'number');
}

/**
 * A number of permits has another time at each limit, so that each value of the function would start new counters.
 *
 * @throws RateLimitConfigError if the limit or the window is a function, and a capacity is a number
 */
function checkCapacity(fields: RuleFields, given: readonly string[], path: string): void {
  const cause = given.find((field) => field !== 'cost');
  if (cause === undefined) return;
  const allowed = `the time in which the limit adds the permits, such as "10s", since ${cause} is a function`;
  rejectAny(capacitiesInPermits(fields).map((name) => problem(`${path}.${name}`, fields[name], allowed)));
}

const OF_LIST = {
  read: () => undefined,
  allowed: 'none with a list in `by`: a function can join its values',
};

/** Returns the function that gives the names of weights in `share` as the guard counts these subjects, each once. */
function weightNameOf(fields: RuleFields, path: string): (name: string) => string {
  const { by, ipv6Prefix = 64 } = fields;
  const reject = (name: string, allowed: string): never =>
    rejectValue(`${path}.share.weights`, name, allowed);
  const { read, allowed } = Array.isArray(by) ? OF_LIST : readerOf(by as By, ipv6Prefix as number);
  const known = new Map<string, string>();
  return (name) => {
    const subject = read(name) ?? reject(name, allowed);
    const other = known.get(subject);
    if (other !== undefined) reject(name, `one weight for a subject, which "${other}" names as well`);
    known.set(subject, name);
    return subject;
  };
}
