import { applyDecorators, UseFilters } from '@nestjs/common';
import type { AlgorithmName } from '../algorithms/registry.js';
import { parseDuration, type Duration } from '../contracts/duration.js';
import { ModuleCheck } from './checks/module-check.js';
import type { NamedRule, RouteRule, RouteRuleFields } from './rules/route-rule.js';

// Registered symbols: the ES module build and the CommonJS build read each other's metadata.
const RULES = Symbol.for('nestjs-redis-rate-limit:rules');
const SKIPPED = Symbol.for('nestjs-redis-rate-limit:skipped');

/** What one target, a class or a method, says by its decorators. */
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
  return applyDecorators(append(RULES, ruleOf(rule, others)), UseFilters(ModuleCheck));
}

/** The arguments of a decorator as the fields of a rule. */
function ruleOf(rule: string | RouteRule, others: readonly unknown[]): object {
  if (typeof rule !== 'string') return rule;
  if (parseDuration(rule) === undefined) {
    return { ...(others[0] as object | undefined), name: rule, [BY_NAME]: true };
  }
  const [limit, algorithm, fields] = others;
  return {
    ...(fields as object | undefined),
    window: rule,
    limit,
    ...(algorithm !== undefined && { algorithm }),
    [COMPLETE]: true,
  };
}

/**
 * Disables inherited rules on a handler or a controller: the rules with these names, or all without names.
 *
 * @example
 * `@SkipRateLimit('default')`
 */
export function SkipRateLimit(...names: string[]): ClassDecorator & MethodDecorator {
  return append(SKIPPED, ...(names.length > 0 ? names : ['*']));
}

/** What the decorators said on this very class or method, nothing inherited. */
export function targetRules(target: object): TargetRules {
  return {
    rules: (Reflect.getOwnMetadata(RULES, target) as RouteRule[] | undefined) ?? [],
    skipped: (Reflect.getOwnMetadata(SKIPPED, target) as string[] | undefined) ?? [],
  };
}

/** What the decorators said on a method, where the class or one that it extends defines it. */
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
function append(key: symbol, ...values: unknown[]): ClassDecorator & MethodDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const decorated = (descriptor?.value as object | undefined) ?? target;
    const present = (Reflect.getOwnMetadata(key, decorated) as unknown[] | undefined) ?? [];
    Reflect.defineMetadata(key, [...values, ...present], decorated);
    if (name === undefined) return;
    // A decorator in front may replace the method, and its metadata with it.
    const named = (Reflect.getOwnMetadata(key, target, name) as unknown[] | undefined) ?? [];
    Reflect.defineMetadata(key, [...values, ...named], target, name);
  };
}
