import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { methodRules, targetRules } from '../rate-limit.decorator.js';
import { classOf, classes, IN_THE_METHOD, isClass, methodsOf } from './handlers.js';

/** The methods that Nest calls for the requests of other handlers: of guards and interceptors, pipes, filters, middleware. */
const OF_PROVIDERS = ['canActivate', 'intercept'];

const OF_ENHANCERS = [...OF_PROVIDERS, 'transform', 'catch'];

/** The metadata with the enhancers of a class or a handler. An instance is no provider of any module. */
const PLACES = ['__guards__', '__interceptors__', '__pipes__', '__exceptionFilters__'];

/** Returns the problems of `@RateLimit` on guards, interceptors, pipes, filters and middleware, by their classes. */
export function limitedEnhancers(modules: ModulesContainer, config: ApplicationConfig): Map<unknown, string> {
  const problems = new Map<unknown, string>();
  const add = (type: unknown, names: readonly string[]): void => {
    const name = isClass(type) ? limitedName(type, names) : undefined;
    if (name !== undefined) problems.set(type, problemOf((type as { name: string }).name, name));
  };
  for (const { injectables, middlewares, providers } of modules.values()) {
    for (const { metatype } of injectables.values()) add(metatype, OF_ENHANCERS);
    for (const { metatype } of providers.values()) add(metatype, OF_PROVIDERS);
    for (const { metatype } of middlewares.values()) add(metatype, ['use']);
  }
  for (const instance of instances(modules, config)) add(classOf(instance), OF_ENHANCERS);
  return problems;
}

/** Returns the enhancers that the application has created itself. */
function* instances(modules: ModulesContainer, config: ApplicationConfig): Iterable<unknown> {
  yield* [
    ...config.getGlobalGuards(),
    ...config.getGlobalInterceptors(),
    ...config.getGlobalPipes(),
    ...config.getGlobalFilters(),
  ];
  for (const { type, isController } of classes(modules)) {
    if (!isController) continue;
    const { prototype } = type as { prototype: Record<string, object> };
    for (const target of [type, ...methodsOf(type).map((name) => prototype[name]!)]) {
      for (const place of PLACES) yield* (Reflect.getMetadata(place, target) ?? []) as unknown[];
    }
  }
}

function limitedName(type: { readonly prototype: object }, names: readonly string[]): string | undefined {
  const isOnClass = targetRules(type).rules.length > 0;
  return names.find(
    (name) => methodRules(type, name).rules.length > 0 || (isOnClass && name in type.prototype),
  );
}

function problemOf(type: string, method: string): string {
  return `@RateLimit on ${type}: Nest calls its ${method}() for the requests of other handlers, and no guard limits it; write @RateLimit on the routes, or ${IN_THE_METHOD}`;
}
