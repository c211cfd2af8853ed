import type { Type } from '@nestjs/common';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { methodRules, targetRules } from '../rate-limit.decorator.js';
import { namedOn, type RuleFields } from '../rules/rule-layers.js';
import type { DeclaredRules, Target } from '../rules/declared-rules.js';
import type { Admission } from '../request/admission.js';
import type { TransportName } from '../rules/route-rule.js';
import type { Handler, HandlerKind, HandlerMethod } from '../request/routes.js';

/** Metadata that does not make a method a handler: of TypeScript, guards, pipes, responses and Swagger. */
const NO_HANDLER =
  /^(design:|__(guards|interceptors|pipes|exceptionFilters|routeArguments)__|__(headers|httpCode|redirect|renderTemplate)__|swagger\/)/;

/** Metadata of a resolver of a field, and of one of the references of a gateway to an object (federation). */
const FIELD_METADATA = ['graphql:resolve_property', 'graphql:resolve_reference'];

export function handlerKind(type: Type, name: string, isController: boolean): HandlerKind {
  const { prototype } = type as { prototype: Record<string, object> };
  const own = Reflect.getOwnMetadataKeys(prototype[name]!) as unknown[];
  const keys = [...own, ...(Reflect.getMetadataKeys(prototype, name) as unknown[])];
  if (keys.length === 0 && name !== 'handleConnection') return 'none';
  if (own.includes('microservices:pattern')) return 'pattern';
  if (isController && own.includes('path')) return 'http';
  if (isGateway(type)) {
    if (own.includes('websockets:message_mapping')) return 'gateway';
    return name === 'handleConnection' ? 'connection' : 'none';
  }
  if (FIELD_METADATA.some((key) => own.includes(key))) return 'field';
  if (own.includes('graphql:resolver_type')) return 'graphql';
  return keys.some((key) => typeof key === 'string' && !NO_HANDLER.test(key)) ? 'unknown' : 'none';
}

export function isGateway(type: Type): boolean {
  return Reflect.hasMetadata('websockets:is_gateway', type);
}

/** What to write where no guard runs. */
export const IN_THE_METHOD = 'limit the call in the method with RateLimitService.consume()';

/** Whether Nest calls a method for no request. A library may call it. */
export function isCall(kind: HandlerKind): boolean {
  return kind === 'none' || kind === 'unknown';
}

/** A class that may have handlers. */
export interface HandlerClass {
  readonly type: Type;
  readonly isController: boolean;
}

/** Returns the class of each controller and of each instance of a provider, in the order of the modules. */
export function* classes(modules: ModulesContainer): Iterable<HandlerClass & { readonly instance: object }> {
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype, instance } of [...controllers.values(), ...providers.values()]) {
      const isController = controllers.has(metatype as Type);
      const type = isController ? metatype : classOf(instance);
      if (typeof type === 'function')
        yield { type: type as Type, isController, instance: instance as object };
    }
  }
}

/** Returns the methods of a class, including inherited methods. */
export function handlersOf(type: Type, isController: boolean): readonly HandlerMethod[] {
  const { prototype } = type as { prototype: Record<string, Handler> };
  return methodsOf(type).map((name) =>
    handlerMethod(type, name, prototype[name]!, handlerKind(type, name, isController)),
  );
}

export function handlerMethod(type: Type, name: string, handler: Handler, kind: HandlerKind): HandlerMethod {
  const isLimited = methodRules(type, name).rules.length > 0;
  return { type, name, handler, kind, owner: `${type.name}.${name}`, isLimited };
}

/** Whether a class has a handler outside HTTP, or a method that is limited when it is called. */
export function hasOtherHandlers({ type, isController }: HandlerClass): boolean {
  return handlersOf(type, isController).some(
    ({ kind, isLimited }) => kind !== 'http' && (isLimited || kind !== 'none'),
  );
}

/** Returns the classes of controllers and providers before they have instances, except those that a factory makes. */
export function* declaredClasses(modules: ModulesContainer): Iterable<HandlerClass> {
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype } of controllers.values()) yield { type: metatype as Type, isController: true };
    for (const { metatype, inject } of providers.values()) {
      if (isClass(metatype) && inject === undefined) yield { type: metatype, isController: false };
    }
  }
}

export function isClass(metatype: unknown): metatype is Type {
  return (
    typeof metatype === 'function' && typeof metatype.prototype === 'object' && metatype.prototype !== null
  );
}

/** Returns the names of the methods of a class, including inherited ones. */
export function methodsOf(type: Type): readonly string[] {
  // A scanner caches prototypes, and Nest creates a class of ModuleRef for each module of each application.
  return new MetadataScanner().getAllMethodNames(type.prototype as object);
}

/** Returns the classes that a class extends, outermost first, and the class itself: their rules apply to it. */
export function lineage(type: Type): Type[] {
  const parent = Object.getPrototypeOf(type) as Type | null;
  return parent && parent !== Function.prototype ? [...lineage(parent), type] : [type];
}

/** Returns what has the rules of a method: its class and those that it extends, outermost first, and itself. */
export function targetsOf({ type, handler, name, owner }: HandlerMethod): readonly Target[] {
  const isOwn = (type.prototype as Record<string, unknown>)[name] === handler;
  const ofMethod = isOwn ? methodRules(type, name) : targetRules(handler);
  const ofClasses = lineage(type).map((each) => ({
    ...targetRules(each),
    path: `@RateLimit on ${each.name}`,
  }));
  return [...ofClasses, { ...ofMethod, path: `@RateLimit on ${owner}` }];
}

/** Observes what handlers with rules that settle or hold permits return, before Nest reads the interceptors of handlers. */
export async function observeResults(
  modules: ModulesContainer,
  declared: DeclaredRules,
  admission: Admission,
): Promise<void> {
  const methods = [...declaredClasses(modules)].flatMap((each) => handlersOf(each.type, each.isController));
  const observed = methods.filter((method) => {
    if (method.kind === 'none' || method.kind === 'connection') return false;
    const rules = declared.rulesFor(targetsOf(method));
    return rules.some(({ settle, algorithm }) => settle || algorithm === 'concurrency');
  });
  if (observed.length > 0) observed.forEach(await admission.openSettlements());
}

/** Whether a class, or one that it extends, has rules for all its methods. */
export function isLimitedClass(type: Type): boolean {
  return lineage(type).some((each) => targetRules(each).rules.length > 0);
}

/** Whether a class has rules, or overrides a method that has some. */
export function isDecorated(type: Type): boolean {
  return (
    isLimitedClass(type) ||
    lineage(type).some((each) => methodsOf(each).some((name) => methodRules(each, name).rules.length > 0))
  );
}

/** Returns the class of a provider's instance, even if a factory created it, without accessing its properties. */
export function classOf(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype = Object.getPrototypeOf(instance) as { constructor?: unknown } | null;
  return prototype !== null && Object.hasOwn(prototype, 'constructor') ? prototype.constructor : undefined;
}

const TRANSPORTS: Readonly<Record<Exclude<HandlerKind, 'none'>, TransportName>> = {
  http: 'http',
  graphql: 'graphql',
  field: 'graphql',
  gateway: 'ws',
  connection: 'ws',
  pattern: 'rpc',
  unknown: 'other',
};

/**
 * Whether requests of a handler are counted by a rule that it has.
 *
 * @param ruled the transports whose handlers all have the module's rules
 */
export function isApplied(
  rule: RuleFields,
  { type, kind }: { readonly type: Type; readonly kind: HandlerKind },
  ruled: ReadonlySet<TransportName>,
): boolean {
  const named = namedOn(rule);
  // Of the methods that are no handlers, those of providers with a decorator are limited.
  if (kind === 'none') return named === 'handler' && !isController(type);
  return named !== 'nowhere' || ruled.has(TRANSPORTS[kind]);
}

export function isController(type: Type): boolean {
  return Reflect.hasMetadata('__controller__', type);
}
