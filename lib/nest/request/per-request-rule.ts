import { readCount } from '../../contracts/options.js';
import { headerSubjectOf } from '../../http/subject.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { CompiledRule, Resolved } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import { problem, RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { algorithmOf, RULE_FIELDS } from '../../rules/rule-fields.js';
import type { AnyRule } from '../../rules/rule.js';
import { boundedPart, copyOfText, partOfDigest } from '../../rules/subject.js';
import type { InvalidValues } from '../warnings.js';
import type { Exchange } from './exchange.js';
import { headerOf } from '../rules/by.js';
import type { RouteRuleFields } from '../rules/route-rule.js';
import { ROUTE_FIELDS, type RuleFields } from '../rules/rule-layers.js';

const DYNAMIC = ['limit', 'window', 'cost'] as const;

/** Limits and windows that take the place of functions in the check at start: the rule must be valid with one of them. */
const SAMPLES = [1, 1e3, 1e6, 1e9].flatMap((limit) => ['1s', '1d'].map((window) => ({ limit, window })));

const LARGEST_COST = 1e9;

const WITHOUT_RULE = 'As `onStoreError` says, such a request is allowed without this rule';
const BY_LAST_VALID =
  'Such a request is limited by the last valid limit and window, and gets a 503 if there are none yet';

/** The fields that are functions of the request. */
export function dynamicFields(fields: RuleFields): (typeof DYNAMIC)[number][] {
  return DYNAMIC.filter((field) => typeof fields[field] === 'function');
}

/**
 * Compiles a rule with sample values instead of its functions.
 *
 * @throws RateLimitConfigError if the rule is invalid for every value that its functions may return
 */
export function sampleOf(fields: RuleFields, path: string): CompiledRule {
  const given = dynamicFields(fields);
  if (given.length === 0) return compileRule(ruleOf(fields), path, weightNameOf(fields));
  const ofOne = fields['share'] === undefined ? [] : given.filter((field) => field !== 'cost');
  if (ofOne.length > 0) {
    const fix = 'a value, since all subjects of a rule with share have one limit and window';
    throw new RateLimitConfigError(ofOne.map((field) => `${path}.${field}: got a function; allowed: ${fix}`));
  }
  checkCapacity(fields, given, path);
  let refusal: unknown;
  for (const sample of SAMPLES) {
    const values = Object.fromEntries(given.map((field) => [field, { ...sample, cost: 0 }[field]]));
    try {
      return compileRule(ruleOf({ ...fields, ...values }), path, weightNameOf(fields));
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal as RateLimitConfigError;
}

/** The options that are a number of permits or a time. */
const CAPACITIES = ['burst', 'queue'] as const;

/**
 * A number of permits has another time at each limit, so that each value of the function would start new counters.
 *
 * @throws RateLimitConfigError if the limit or the window is a function, and a capacity is a number
 */
function checkCapacity(fields: RuleFields, given: readonly string[], path: string): void {
  const cause = given.find((field) => field !== 'cost');
  if (cause === undefined || algorithmOf(fields['algorithm'] as string | undefined)?.leases) return;
  const allowed = `the time in which the limit adds the permits, such as "10s", since ${cause} is a function`;
  const problems = CAPACITIES.filter((name) => typeof readCount(fields[name]) === 'number').map((name) =>
    problem(`${path}.${name}`, fields[name], allowed),
  );
  if (problems.length > 0) throw new RateLimitConfigError(problems);
}

/** A rule with functions in `limit`, `window` or `cost`, compiled for each request. */
export class PerRequestRule {
  /** The rule of the last request whose limit and window were valid. */
  private lastValid: CompiledRule | undefined;

  /** @param path the name of the rule in messages */
  constructor(
    private readonly fields: RuleFields & RouteRuleFields & { readonly name: string },
    private readonly path: string,
    private readonly keyed: (rule: CompiledRule) => KeyedRule,
    private readonly invalid: InvalidValues,
  ) {}

  /** Returns the rule of a request, or what happens to a request without a valid limit and window. */
  async of(exchange: Exchange): Promise<KeyedRule | 'skip' | 'unavailable'> {
    const { limit, window, cost = 1 } = this.fields;
    const resolved = { limit: await exchange.valueOf(limit), window: await exchange.valueOf(window) };
    const permits = this.readCost(await exchange.valueOf(cost));
    const rule = this.compile(resolved);
    return typeof rule === 'string' ? rule : this.keyed(withCost(rule, permits));
  }

  private compile(resolved: Resolved): CompiledRule | 'skip' | 'unavailable' {
    try {
      const rule = compileRule(
        ruleOf({ ...this.fields, ...resolved, cost: 0 }),
        this.path,
        weightNameOf(this.fields),
      );
      return (this.lastValid = { ...rule, resolved: copied(resolved) });
    } catch (error) {
      if (!(error instanceof RateLimitConfigError)) throw error;
      return this.withoutLimit(error.problems.join('; '));
    }
  }

  /**
   * Limits and windows are often read from the application's data: a missing value must not be an advantage
   * for a client.
   */
  private withoutLimit(reason: string): CompiledRule | 'skip' | 'unavailable' {
    const { name, mode, onStoreError = this.invalid.onStoreError } = this.fields;
    const isAllowed = onStoreError === 'allow';
    this.invalid.report(name, 'limit', reason, isAllowed ? WITHOUT_RULE : BY_LAST_VALID);
    if (isAllowed) return 'skip';
    return this.lastValid ?? (mode === 'shadow' ? 'skip' : 'unavailable');
  }

  /** Costs are often computed from what a client sent: an invalid one still takes a permit. */
  private readCost(given: unknown): number {
    const cost = readCount(given);
    if (RULE_FIELDS.cost.accepts(cost)) return cost as number;
    const permits = typeof cost === 'number' && cost > 1 ? Math.min(Math.ceil(cost), LARGEST_COST) : 1;
    const reason = problem(`${this.path}.cost`, given, RULE_FIELDS.cost.allowed);
    const outcome = `Such a request takes ${permits} ${permits === 1 ? 'permit' : 'permits'}`;
    this.invalid.report(this.fields.name, 'cost', reason, outcome);
    return permits;
  }
}

/** Returns the fields of a route's rule that `RateLimiter` supports. */
function ruleOf(fields: RuleFields): AnyRule {
  const { options } = algorithmOf(fields['algorithm'] as string | undefined) ?? { options: {} };
  const own = Object.entries(fields).filter(
    ([field]) =>
      Object.hasOwn(RULE_FIELDS, field) ||
      Object.hasOwn(options, field) ||
      !Object.hasOwn(ROUTE_FIELDS, field),
  );
  return Object.fromEntries(own) as unknown as AnyRule;
}

/** Returns the function that gives the names of weights in `share` as the guard counts them: it hashes the values of headers. */
function weightNameOf({ by }: RuleFields): ((name: string) => string) | undefined {
  const header = Array.isArray(by) ? undefined : headerOf(by);
  const hash = header === undefined ? undefined : headerSubjectOf(header);
  return hash && ((name) => partOfDigest(hash(name)) ?? boundedPart(name));
}

/** Returns the values without references to longer texts: they are kept, and may be parts of what a client sent. */
function copied(resolved: Resolved): Resolved {
  const copies = Object.entries(resolved).map(([field, value]) => [
    field,
    typeof value === 'string' ? copyOfText(value) : value,
  ]);
  return Object.fromEntries(copies) as Resolved;
}

function withCost(rule: CompiledRule, cost: number): CompiledRule {
  return { ...rule, cost, trial: rule.trial && { ...rule.trial, cost } };
}
