import { Inject, Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { ModuleCheck } from '../checks/module-check.js';
import { Responder } from '../request/responder.js';
import { Routes, type Handler } from '../request/routes.js';
import { methodRules } from '../rate-limit.decorator.js';
import { Elsewhere } from '../transports/elsewhere.js';
import { callExchange } from '../transports/provider.js';
import { classOf, methodsOf } from './handler-classes.js';
import { handlerKind } from './handler-kind.js';
import { RouteRules } from './route-rules.js';

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** The types of results that may be promises, as TypeScript writes them: a union is `Object`. */
const MAY_BE_PROMISE: readonly unknown[] = [undefined, Object, Promise];

/** Limits the calls of decorated methods of providers, which no guard reaches: replaces them on the instances. */
@Injectable()
export class ProviderMethods implements OnModuleInit {
  private readonly wrapped = new WeakSet();

  constructor(
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Routes) private readonly routes: Routes,
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(Elsewhere) private readonly elsewhere: Elsewhere,
    @Inject(Responder) private readonly responder: Responder,
  ) {}

  /** @throws RateLimitConfigError if a decorated method is synchronous, or its provider has no instance yet */
  onModuleInit(): void {
    this.limitNew();
    ModuleCheck.checkLate(this.modules, () => this.limitNew());
  }

  /** Limits the methods of the providers that were added since the last call. */
  private limitNew(): void {
    const problems: string[] = [];
    for (const { providers } of this.modules.values()) {
      for (const wrapper of providers.values()) {
        const instance: unknown = wrapper.instance;
        const type = classOf(instance) as Type | undefined;
        if (type === undefined || this.wrapped.has(instance as object)) continue;
        const methods = limitedMethods(type);
        if (methods.length === 0) continue;
        this.wrapped.add(instance as object);
        problems.push(
          ...this.problemsOf(type, methods, !wrapper.isTransient && wrapper.isDependencyTreeStatic()),
        );
        for (const name of methods) this.wrap(instance as Record<string, Method>, type, name);
      }
    }
    if (problems.length > 0) throw new RateLimitConfigError(problems);
  }

  private problemsOf(type: Type, methods: readonly string[], isSingleton: boolean): string[] {
    const path = (name: string): string => `@RateLimit on ${type.name}.${name}`;
    const consume = 'RateLimitService.consume() in the method';
    if (!isSingleton) {
      return methods.map(
        (name) =>
          `${path(name)}: its provider is request-scoped or transient; allowed: a singleton, or ${consume}`,
      );
    }
    return methods
      .filter((name) => !mayBePromise(type, name))
      .map(
        (name) =>
          `${path(name)}: the method is synchronous, and a limit is not; make it async, or use ${consume}`,
      );
  }

  private wrap(instance: Record<string, Method>, type: Type, name: string): void {
    const method = instance[name]!;
    const handler = (type.prototype as Record<string, Handler>)[name]!;
    const { elsewhere, responder, routes, rules } = this;
    const limited: Method = async function (...args) {
      const { named: route } = routes.of(type, handler) ?? rules.compileLater(type, handler);
      return elsewhere.call(
        route,
        callExchange(type, method, args),
        ({ context }, decision, detail) => responder.deny(context, decision, detail),
        () => checked(method.apply(this, args), type, name),
      );
    };
    for (const key of Reflect.getMetadataKeys(method) as unknown[]) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, method), limited);
    }
    Object.defineProperty(limited, 'name', { value: method.name });
    Object.defineProperty(instance, name, { value: limited, configurable: true, writable: true });
  }
}

/** The decorated methods of a class that nothing calls as handlers. */
function limitedMethods(type: Type): readonly string[] {
  return methodsOf(type).filter(
    (name) => methodRules(type, name).rules.length > 0 && handlerKind(type, name, false) === 'none',
  );
}

function mayBePromise(type: Type, name: string): boolean {
  const { prototype } = type as { prototype: Record<string, Method> };
  if (prototype[name]!.constructor.name === 'AsyncFunction') return true;
  return MAY_BE_PROMISE.includes(Reflect.getMetadata('design:returntype', prototype, name));
}

/** @throws RateLimitConfigError if a method whose type did not show it is synchronous */
function checked(result: unknown, type: Type, name: string): unknown {
  if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') return result;
  throw new RateLimitConfigError([
    `@RateLimit on ${type.name}.${name}: the method returned no promise, and a limit is not synchronous; make it async`,
  ]);
}
