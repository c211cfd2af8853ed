import type { NamedRule, RouteRule } from './route-rule.js';

const RULES = Symbol('rate-limit:rules');
const SKIPPED = Symbol('rate-limit:skipped');

/** What one target, a class or a method, says by its decorators. */
export interface TargetRules {
  /** Its rules, in the order in which they are written. */
  readonly rules: readonly RouteRule[];
  /** Names of rules from further out that do not apply; `'*'` for all of them. */
  readonly skipped: readonly string[];
}

/** On the fields that a decorator gives with a rule's name: the rule has to be in the module's options. */
export const BY_NAME = Symbol('rate-limit:by-name');

/**
 * Limits a handler, or every handler of a controller: by a rule that is written here, or by one of the
 * module's `onDemand`, given by its name. Several rules may stand on one target, each of another name. A rule
 * on the handler overrides that of the same name on the controller, and that one the module's, field by field.
 *
 * A wrong rule stops the application at start.
 *
 * @param rule a rule; or a name in `onDemand` and fields that differ on this target
 * @example `@RateLimit('login', { limit: 3 })`
 */
export function RateLimit(
  ...rule: [rule: RouteRule] | [name: string, fields?: NamedRule]
): ClassDecorator & MethodDecorator {
  const [given, fields] = rule;
  return append(RULES, typeof given === 'string' ? { ...fields, name: given, [BY_NAME]: true } : given);
}

/** Takes the named rules from further out off a handler or a controller; without names, all of them. */
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
