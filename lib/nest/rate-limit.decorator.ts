import { applyDecorators, UseFilters, type Type } from '@nestjs/common';
import type { AlgorithmName } from '../algorithms/registry.js';
import { isFields } from '../contracts/fields.js';
import { matching } from '../contracts/options.js';
import { problemOf, rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { shown } from '../contracts/shown.js';
import { durationFix, parseDuration } from '../contracts/duration.js';
import { limitCalls, ownerOf } from './limited-method.js';
import { ModuleCheck } from './checks/module-check.js';
import { noteNeeds } from './rules/named-parts.js';
import type { CheckedRule, RateLimitArguments } from './rules/decorated-rule.js';
import type { RouteRule } from './rules/route-rule.js';

// Registered symbols: the ES module build and the CommonJS build read each other's metadata.
const RULES = Symbol.for('nestjs-redis-rate-limit:rules');

const SKIPPED = Symbol.for('nestjs-redis-rate-limit:skipped');

/** The rules of the decorators of a class or a method. */
export interface TargetRules {
  /** Its rules, in the order of the decorators. */
  readonly rules: readonly RouteRule[];
  /** Names of inherited rules that do not apply; a symbol stands for all of them. See `skips`. */
  readonly skipped: readonly (string | symbol)[];
}

/** Marks the fields of a decorator with a rule name: `onDemand` must have a rule of this name. */
export const BY_NAME = Symbol.for('nestjs-redis-rate-limit:by-name');

/** Marks the fields of a rule with a complete limit: it inherits no options of another limit. */
export const COMPLETE = Symbol.for('nestjs-redis-rate-limit:complete');

/** Stands for all names of rules. */
const ALL_RULES = Symbol.for('nestjs-redis-rate-limit:all-rules');

/** Replaces a rule if the arguments of its decorator are invalid: contains the problem. */
export const MISUSED = Symbol.for('nestjs-redis-rate-limit:misused');

/**
 * Limits a handler, or every handler of a controller. A target may have several rules with different names. A
 * rule on the handler overrides the rule of the same name on the controller field by field, and that one
 * overrides the module's. An invalid rule stops the application at start.
 *
 * The positional form states a complete limit. It inherits the subject (`by`), the scope, and the fields of cost and
 * outcome, but neither the algorithm and its options nor `block`, `trial`, `alerts`, `plans` and `maxWait`.
 *
 * @param rule a rule; its window, followed by its limit, algorithm and other fields; or the name of a rule in
 *   `onDemand`, followed by the fields to override on this target
 * @example
 * `@RateLimit({ window: '1m', limit: 100, by: 'user' })`
 * `@RateLimit('1m', 100, 'gcra', { by: 'user' })`
 * `@RateLimit('login', { limit: 3 })`
 */
export function RateLimit<
  Given extends string | number | object,
  Second extends number | object = object,
  Third extends string | object = AlgorithmName,
>(
  rule: CheckedRule<Given>,
  ...others: RateLimitArguments<Given, Second, Third>
): ClassDecorator & MethodDecorator {
  rejectBare('@RateLimit', "@RateLimit('1m', 100)", [rule, ...others]);
  return applyDecorators(append('@RateLimit', RULES, noteNeeds(ruleOf(rule, others))), checkModule);
}

/** Not on middleware: Nest would warn about a filter that its user has not written. */
function checkModule(target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void {
  const { use } = (name === undefined ? (target as Type).prototype : target) as { readonly use?: unknown };
  const isMiddleware = typeof use === 'function' && use.length === 3;
  if (!isMiddleware) (UseFilters(ModuleCheck) as MethodDecorator)(target, name!, descriptor!);
}

/** Converts the arguments of a decorator to the fields of a rule. */
function ruleOf(rule: string | RouteRule, others: readonly unknown[]): object {
  if (typeof rule !== 'string') return misused(others, 0, `a rule${swappedFix(rule, others[0])}`) ?? rule;
  if (parseDuration(rule) === undefined) {
    const fix = durationFix(rule);
    const allowed = 'the name of a rule and an object of fields, or a window such as "1m" and a limit';
    const wrong =
      misused(others, 1, allowed, fix && `for a window ${fix}`) ?? givenTwice(['name'], others[0]);
    return wrong ?? { ...(others[0] as object | undefined), name: rule, [BY_NAME]: true };
  }
  const [limit, algorithm, fields] = others;
  const positional = { window: rule, limit, ...(algorithm !== undefined && { algorithm }) };
  const fix = isFields(algorithm) ? 'write @RateLimit({ window, limit, ... })' : undefined;
  const wrong =
    misused(others, fix ? 1 : 3, 'a window, a limit, an algorithm and an object of fields', fix) ??
    givenTwice(Object.keys(positional), fields);
  return wrong ?? { ...(fields as object | undefined), ...positional, [COMPLETE]: true };
}

/** Returns a rule with the problem of a field that is a positional argument as well; `undefined` if there is none. */
function givenTwice(positional: readonly string[], fields: unknown): object | undefined {
  const twice = positional.find((field) => isFields(fields) && Object.hasOwn(fields, field));
  if (twice === undefined) return undefined;
  const value = shown((fields as Readonly<Record<string, unknown>>)[twice]);
  return { [MISUSED]: `got ${twice} ${value} in the fields as well; allowed: ${twice} as an argument only` };
}

/** Returns what to write instead of a limit before its window, or of a window without a unit; empty if it is neither. */
function swappedFix(first: unknown, second: unknown): string {
  if (typeof first !== 'number') return '';
  if (typeof second === 'string' && parseDuration(second) !== undefined)
    return `; write @RateLimit('${second}', ${first})`;
  if (typeof second !== 'number') return '';
  const readings = [`@RateLimit('${second}s', ${first})`, `@RateLimit('${first}s', ${second})`];
  return `, or a window with its unit and a limit: ${readings.join(' or ')}`;
}

/**
 * Returns a rule with the problem of arguments that a decorator would ignore; `undefined` if there are none.
 *
 * @param most the maximum number of arguments; the last of them is an object with fields
 */
function misused(given: readonly unknown[], most: number, allowed: string, fix?: string): object | undefined {
  const fields = most > 0 ? given[most - 1] : undefined;
  const last = given.findLastIndex((each) => each !== undefined);
  if (last < most && (fields === undefined || isFields(fields))) return undefined;
  const at = Math.min(most, last);
  return { [MISUSED]: problemOf(`got ${shown(given[at])} as argument ${at + 2}`, allowed, fix) };
}

/**
 * Disables inherited rules on a handler or a controller: the rules with these names, or all without names.
 *
 * @example
 * `@SkipRateLimit('default')`
 */
export function SkipRateLimit(...names: string[]): ClassDecorator & MethodDecorator {
  rejectBare('@SkipRateLimit', '@SkipRateLimit()', names);
  return append('@SkipRateLimit', SKIPPED, ...(names.length > 0 ? names : [ALL_RULES]));
}

/** Whether decorators of a class or method disable an inherited rule. */
export function skips({ skipped }: TargetRules, name: string): boolean {
  return skipped.includes(ALL_RULES) || skipped.includes(name);
}

/** Returns what is wrong with an argument of @SkipRateLimit that is no name. */
export function skipProblem(path: string, given: unknown): string {
  const names = namesIn(given).map((name) => JSON.stringify(name));
  const isAll = given === true;
  const fix =
    names.length > 0 || isAll ? `write @SkipRateLimit(${names.join(', ')})` : 'allowed: names of rules';
  return `${path}: got ${shown(given)}; ${fix}`;
}

/** Returns the names in a list, or in an object as for @nestjs/throttler. */
function namesIn(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given.filter((name) => typeof name === 'string');
  if (!isFields(given)) return [];
  return Object.keys(given).filter((name) => given[name] === true);
}

/** @throws RateLimitConfigError if a decorator got what it decorates: it was written without its parentheses */
function rejectBare(decorator: string, example: string, [target, member]: readonly unknown[]): void {
  const isPrototype = isFields(target) && Object.hasOwn(target, 'constructor');
  const isClass = typeof target === 'function' && /^class\b/.test(Function.prototype.toString.call(target));
  if (!isPrototype && !isClass) return;
  const type = (isPrototype ? target.constructor : target) as { readonly name: string };
  const owner = member === undefined ? type.name : `${type.name}.${member as string}`;
  rejectConfig(`${decorator} on ${owner}: written without parentheses; write ${example}`);
}

/** @throws RateLimitConfigError if Nest never calls a member of this kind, so that no guard runs for it */
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
  rejectConfig(
    `${decorator} on ${type.name}.${String(name)}: ${what}, so no guard limits it; allowed: methods that handle requests`,
  );
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
  const owner = ownerOf(prototype as object, name);
  if (owner === null) return { rules: [], skipped: [] };
  const ofMethod = targetRules((owner as Record<string, object>)[name]!);
  const rules = Reflect.getOwnMetadata(RULES, owner, name) as RouteRule[] | undefined;
  const skipped = Reflect.getOwnMetadata(SKIPPED, owner, name) as string[] | undefined;
  return { rules: rules ?? ofMethod.rules, skipped: skipped ?? ofMethod.skipped };
}

/** Decorators run from the last to the first, so each rule is inserted at the front. */
function append(decorator: string, key: symbol, ...values: unknown[]): ClassDecorator & MethodDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (name !== undefined) checkMethod(decorator, target, name, descriptor);
    if (name !== undefined && key === RULES) limitCalls(target, name as string, descriptor!);
    const decorated = (descriptor?.value as object | undefined) ?? target;
    const present = (Reflect.getOwnMetadata(key, decorated) as unknown[] | undefined) ?? [];
    Reflect.defineMetadata(key, [...values, ...present], decorated);
    if (name === undefined) return;
    // A decorator above this one may replace the method, which would lose its metadata.
    const named = (Reflect.getOwnMetadata(key, target, name) as unknown[] | undefined) ?? [];
    Reflect.defineMetadata(key, [...values, ...named], target, name);
  };
}

/** The key of the id of a class or method. */
export const ID = Symbol.for('nestjs-redis-rate-limit:id');

/** Allowed values of an id. */
export const ID_OPTION = matching(/^[\x20-\x7e]{1,128}$/, '1 to 128 printable ASCII characters');

/**
 * Names the counters of a handler, or of the handlers of a class: on a class, `orders` stands for `orders.list` and
 * `orders.create`. Without it, the name is the transport's address, such as `GET /orders/:id` or `Query.me`; for a
 * method of a provider, which has no address, it is the name of the method. Two handlers with one name stop the
 * application at start. With it, the counters stay the same if the address changes. Subclasses do not inherit the id of
 * a class.
 *
 * @param id 1 to 128 printable ASCII characters, unique in the application; a wrong one stops it at start
 * @example
 * `@RateLimitId('geocode')`
 */
export function RateLimitId(id: string): ClassDecorator & MethodDecorator {
  rejectBare('@RateLimitId', "@RateLimitId('orders')", [id]);
  if ((id as unknown) === undefined) rejectValue('@RateLimitId', id, ID_OPTION.allowed);
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    Reflect.defineMetadata(ID, id, (descriptor?.value as object | undefined) ?? target);
    // A decorator above this one may replace the method, which would lose its metadata.
    if (name !== undefined) Reflect.defineMetadata(ID, id, target, name);
  };
}
