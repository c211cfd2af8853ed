import type { Type } from '@nestjs/common';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { methodRules, targetRules } from '../rate-limit.decorator.js';
import { namedOn, type RuleFields } from '../rules/rule-layers.js';
import type { TransportName } from '../rules/route-rule.js';

/**
 * The kind of a handler: an HTTP route, a GraphQL query, mutation or subscription, a field resolver, a message of a
 * WebSocket gateway, its connections, a pattern of a microservice, a handler of an unknown library, or no handler (`'none'`).
 */
export type HandlerKind =
  'http' | 'graphql' | 'field' | 'gateway' | 'connection' | 'pattern' | 'unknown' | 'none';

/** Metadata that does not make a method a handler: of TypeScript, guards, pipes, responses and Swagger. */
const NO_HANDLER =
  /^(design:|__(guards|interceptors|pipes|exceptionFilters|routeArguments)__|__(headers|httpCode|redirect|renderTemplate)__|swagger\/)/;

/** Metadata of a resolver of a field, and of one of the references of a gateway to an object (federation). */
const FIELD_METADATA = ['graphql:resolve_property', 'graphql:resolve_reference'];

export function handlerKind(type: Type, name: string, isController: boolean): HandlerKind {
  const method = (type.prototype as Record<string, object>)[name]!;
  if (Reflect.hasMetadata('microservices:pattern', method)) return 'pattern';
  if (isController && Reflect.hasMetadata('path', method)) return 'http';
  if (Reflect.hasMetadata('websockets:is_gateway', type)) {
    if (Reflect.hasMetadata('websockets:message_mapping', method)) return 'gateway';
    return name === 'handleConnection' ? 'connection' : 'none';
  }
  if (FIELD_METADATA.some((key) => Reflect.hasMetadata(key, method))) return 'field';
  if (Reflect.hasMetadata('graphql:resolver_type', method)) return 'graphql';
  const keys = [
    ...(Reflect.getMetadataKeys(method) as unknown[]),
    ...(Reflect.getMetadataKeys(type.prototype as object, name) as unknown[]),
  ];
  return keys.some((key) => typeof key === 'string' && !NO_HANDLER.test(key)) ? 'unknown' : 'none';
}

/** A class that may have handlers. */
export interface HandlerClass {
  readonly type: Type;
  readonly isController: boolean;
}

/** Returns the controllers, and the providers with rate limit decorators, in the order of the modules. */
export function* handlerClasses(modules: ModulesContainer): Iterable<HandlerClass> {
  for (const each of classes(modules)) if (each.isController || isDecorated(each.type)) yield each;
}

/** Returns the classes of all controllers and providers, in the order of the modules. */
export function* classes(modules: ModulesContainer): Iterable<HandlerClass> {
  const seen = new Set<unknown>();
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype, instance } of [...controllers.values(), ...providers.values()]) {
      const isController = controllers.has(metatype as Type);
      const type = isController ? metatype : classOf(instance);
      if (typeof type !== 'function' || seen.has(type)) continue;
      seen.add(type);
      yield { type: type as Type, isController };
    }
  }
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

function isClass(metatype: unknown): metatype is Type {
  return (
    typeof metatype === 'function' && typeof metatype.prototype === 'object' && metatype.prototype !== null
  );
}

/** Returns the method names of a class, including inherited methods. */
export function methodsOf(type: Type): readonly string[] {
  // A scanner caches prototypes, and Nest creates a class of ModuleRef for each module of each application.
  return new MetadataScanner().getAllMethodNames(type.prototype as object);
}

/** Returns the classes that a class extends, outermost first, and the class itself: their rules apply to it. */
export function lineage(type: Type): Type[] {
  const parent = Object.getPrototypeOf(type) as Type | null;
  return parent && parent !== Function.prototype ? [...lineage(parent), type] : [type];
}

function isDecorated(type: Type): boolean {
  // A method without rules may override one that has them.
  return lineage(type).some(
    (each) =>
      targetRules(each).rules.length > 0 ||
      methodsOf(each).some((name) => methodRules(each, name).rules.length > 0),
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
