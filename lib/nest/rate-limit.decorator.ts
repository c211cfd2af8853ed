import { applyDecorators, UseFilters } from '@nestjs/common';
import type { AlgorithmName } from '../algorithms/registry.js';
import { isFields } from '../contracts/fields.js';
import { RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import { shown } from '../contracts/shown.js';
import { durationFix, parseDuration, type Duration } from '../contracts/duration.js';
import { ModuleCheck } from './checks/module-check.js';
import type { NamedRule, RouteRule, RouteRuleFields } from './rules/route-rule.js';

// Registered symbols: the ES module build and the CommonJS build read each other's metadata.
const RULES = Symbol.for('nestjs-redis-rate-limit:rules');
const SKIPPED = Symbol.for('nestjs-redis-rate-limit:skipped');

/** The rules that the decorators of a class or a method set. */
export interface TargetRules {
  /** Its rules, in the order in which they are written. */
  readonly rules: readonly RouteRule[];
  /** Names of rules from further out that do not apply; `'*'` for all of them. */
  readonly skipped: readonly string[];
}

/** On the fields that a decorator gives with a rule's name: the rule has to be in the module's options. */
export const BY_NAME = Symbol.for('nestjs-redis-rate-limit:by-name');

/** On the fields of a rule that states a complete limit: it inherits no other limit's options. */
export const COMPLETE = Symbol.for('nestjs-redis-rate-limit:complete');

/** In the place of a rule: what is wrong with the arguments of its decorator. */
export const MISUSED = Symbol.for('nestjs-redis-rate-limit:misused');

/** The other fields of a rule whose window, limit and algorithm are given one by one. */
export type PositionalFields = Omit<RouteRuleFields, 'window' | 'limit'> & Pick<RouteRule, 'name'>;

/**
 * The arguments behind the first one of `@RateLimit`: of a window, the limit and others; of a rule's name, the fields
 * to override; of a rule, none.
 */
export type RateLimitArguments<First> = string extends First
  ? []
  : First extends Duration
    ? [limit: number, algorithm?: AlgorithmName, fields?: PositionalFields]
    : [fields?: NamedRule];

/**
 * Limits a handler, or every handler of a controller. A target may have several rules with different names. A
 * rule on the handler overrides the rule of the same name on the controller field by field, and that one
 * overrides the module's. An invalid rule stops the application at start.
 *
 * The form with positions states a complete limit: it overrides the window, the limit and the algorithm with all
 * its options, and inherits the subject and the other fields.
 *
 * @param rule a rule; its window, followed by its limit, algorithm and other fields; or the name of a rule in
 *   `onDemand`, followed by the fields to override on this target
 * @example
 * `@RateLimit({ window: '1m', limit: 100, by: 'user' })`
 * `@RateLimit('1m', 100, 'gcra', { by: 'user' })`
 * `@RateLimit('login', { limit: 3 })`
 */
export function RateLimit<const First extends string>(
  rule: First | RouteRule,
  ...others: RateLimitArguments<First>
): ClassDecorator & MethodDecorator {
  return applyDecorators(append('@RateLimit', RULES, ruleOf(rule, others)), UseFilters(ModuleCheck));
}

/** The arguments of a decorator as the fields of a rule. */
function ruleOf(rule: string | RouteRule, others: readonly unknown[]): object {
  if (typeof rule !== 'string') return misused(others, 0, 'a rule') ?? rule;
  if (parseDuration(rule) === undefined) {
    const fix = durationFix(rule);
    const allowed = 'the name of a rule and an object of fields';
    const wrong = misused(others, 1, fix ? `${allowed}; for a window ${fix}` : allowed);
    return wrong ?? { ...(others[0] as object | undefined), name: rule, [BY_NAME]: true };
  }
  const [limit, algorithm, fields] = others;
  const wrong = misused(others, 3, 'a window, a limit, an algorithm and an object of fields');
  return (
    wrong ?? {
      ...(fields as object | undefined),
      window: rule,
      limit,
      ...(algorithm !== undefined && { algorithm }),
      [COMPLETE]: true,
    }
  );
}

/**
 * Stands for a rule whose arguments a decorator would ignore, if there are any.
 *
 * @param most how many arguments there may be; the last of them is an object with fields
 */
function misused(others: readonly unknown[], most: number, allowed: string): object | undefined {
  const fields = most > 0 ? others[most - 1] : undefined;
  const last = others.findLastIndex((each) => each !== undefined);
  if (last < most && (fields === undefined || isFields(fields))) return undefined;
  const at = Math.min(most, last);
  return { [MISUSED]: `got ${shown(others[at])} as argument ${at + 2}; allowed: ${allowed}` };
}

/**
 * Disables inherited rules on a handler or a controller: the rules with these names, or all without names.
 *
 * @example
 * `@SkipRateLimit('default')`
 */
export function SkipRateLimit(...names: string[]): ClassDecorator & MethodDecorator {
  return append('@SkipRateLimit', SKIPPED, ...(names.length > 0 ? names : ['*']));
}

/** @throws RateLimitConfigError if Nest calls no such member of a class, so that no guard runs for it */
function checkMethod(
  decorator: string,
  target: object,
  name: string | symbol,
  descriptor: PropertyDescriptor | undefined,
): void {
  const isStatic = typeof target === 'function';
  const isMethod = typeof descriptor?.value === 'function' && typeof name === 'string';
  if (!isStatic && isMethod) return;
  const type = isStatic ? target : target.constructor;
  const what = isStatic ? 'a static member' : 'no method with a name';
  throw new RateLimitConfigError([
    `${decorator} on ${type.name}.${String(name)}: ${what}, so no guard limits it; allowed: methods that handle requests`,
  ]);
}

/** Returns the rules of the decorators on a class or method itself, without inherited ones. */
export function targetRules(target: object): TargetRules {
  return {
    rules: (Reflect.getOwnMetadata(RULES, target) as RouteRule[] | undefined) ?? [],
    skipped: (Reflect.getOwnMetadata(SKIPPED, target) as string[] | undefined) ?? [],
  };
}

/** Returns the rules of the decorators on a method, in the class that defines it. */
export function methodRules({ prototype }: { readonly prototype: unknown }, name: string): TargetRules {
  let owner = prototype as object | null;
  while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null;
  if (owner === null) return { rules: [], skipped: [] };
  const ofMethod = targetRules((owner as Record<string, object>)[name]!);
  const rules = Reflect.getOwnMetadata(RULES, owner, name) as RouteRule[] | undefined;
  const skipped = Reflect.getOwnMetadata(SKIPPED, owner, name) as string[] | undefined;
  return { rules: rules ?? ofMethod.rules, skipped: skipped ?? ofMethod.skipped };
}

/** Decorators run from the last to the first, so each goes in front. */
function append(decorator: string, key: symbol, ...values: unknown[]): ClassDecorator & MethodDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (name !== undefined) checkMethod(decorator, target, name, descriptor);
    const decorated = (descriptor?.value as object | undefined) ?? target;
    const present = (Reflect.getOwnMetadata(key, decorated) as unknown[] | undefined) ?? [];
    Reflect.defineMetadata(key, [...values, ...present], decorated);
    if (name === undefined) return;
    // A decorator above this one may replace the method, and lose its metadata.
    const named = (Reflect.getOwnMetadata(key, target, name) as unknown[] | undefined) ?? [];
    Reflect.defineMetadata(key, [...values, ...named], target, name);
  };
}
