import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Guards, guardsOn } from './guards.js';
import {
  classes,
  methodsOf,
  handlerKind,
  handlerClasses,
  lineage,
  type HandlerClass,
  type HandlerKind,
} from './handlers.js';
import { RuleBook } from '../rules/rule-book.js';
import { Warnings } from '../warnings.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { ModuleCheck } from '../checks/module-check.js';
import { methodRules, targetRules } from '../rate-limit.decorator.js';
import { Routes, type Handler } from '../request/routes.js';
import { isIntercepted } from '../../transports/handler-interceptor.js';

/** Warns if no guard enforces the rules of the module. */
@Injectable()
export class ModuleRulesCheck implements OnApplicationBootstrap {
  constructor(
    @Inject(RuleBook) private readonly book: RuleBook,
    @Inject(Guards) private readonly guards: Guards,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /** Runs at bootstrap, since applications add global guards until then. */
  onApplicationBootstrap(): void {
    const names = this.book.everyRoute.map((name) => `"${name}"`);
    if (names.length === 0 || this.guards.hasOurs || !this.hasHandlers()) return;
    const rules = names.length > 1 ? `The rules ${names.join(', ')} limit` : `The rule ${names[0]} limits`;
    this.warnings.warn(
      'RL_NO_GUARD',
      `${rules} no request: \`registerGuard\` is false, and no handler has @UseGuards(RateLimitGuard). ` +
        'Add it to the handlers that `rules` is for, or remove `registerGuard: false`.',
    );
  }

  private hasHandlers(): boolean {
    for (const { type, isController } of classes(this.modules)) {
      const kinds = methodsOf(type).map((name) => handlerKind(type, name, isController));
      if (kinds.some((kind) => kind !== 'none' && kind !== 'unknown')) return true;
    }
    return false;
  }
}

const IN_THE_METHOD = 'limit the call in the method with RateLimitService.consume()';

/** Finds decorated methods that no guard reaches: their limits would never be enforced. */
@Injectable()
export class StartCheck implements OnModuleInit, OnApplicationBootstrap {
  private readonly problems: string[] = [];
  private readonly unclear: string[] = [];
  private readonly checked = new WeakSet<Type>();

  constructor(
    @Inject(Guards) private readonly guards: Guards,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(Routes) private readonly routes: Routes,
  ) {}

  /** @throws RateLimitConfigError listing every method that is never limited */
  onModuleInit(): void {
    this.checkNew();
    ModuleCheck.checkLate(this.modules, () => {
      this.checkNew();
      this.warnOfUnclear();
    });
  }

  /** Libraries create their handlers up to this hook. */
  onApplicationBootstrap(): void {
    this.warnOfUnclear();
  }

  /** Checks the classes that were added since the last check. */
  private checkNew(): void {
    for (const each of handlerClasses(this.modules)) {
      if (this.checked.has(each.type)) continue;
      this.checked.add(each.type);
      this.checkClass(each);
    }
    this.problems.push(...enhancerProblems(this.modules));
    if (this.problems.length > 0) throw new RateLimitConfigError(this.problems.splice(0));
  }

  private warnOfUnclear(): void {
    if (this.unclear.length === 0) return;
    this.warnings.warn(
      'RL_UNREACHED_METHOD',
      `@RateLimit on ${this.unclear.join(', ')}: no guard is known to run there, so the limit may not be enforced. ` +
        `Move it to a route, or ${IN_THE_METHOD}.`,
    );
  }

  private checkClass({ type, isController }: HandlerClass): void {
    const isOnClass = lineage(type).some((each) => targetRules(each).rules.length > 0);
    const kinds = new Set<HandlerKind>();
    let hasCalls = false;
    for (const name of methodsOf(type)) {
      const kind = handlerKind(type, name, isController);
      const isOnMethod = methodRules(type, name).rules.length > 0;
      kinds.add(kind);
      this.checkEnd(type, name, kind);
      if ((kind === 'none' || kind === 'unknown') && !isController)
        hasCalls ||= isOnMethod; // ProviderMethods limits its calls
      else if (kind === 'connection')
        hasCalls ||= isOnMethod; // Connections limits it
      else if (isOnMethod || (isOnClass && kind !== 'none' && kind !== 'unknown')) {
        this.check(type, name, kind);
      }
    }
    if (
      !isOnClass ||
      isController ||
      hasCalls ||
      [...kinds].some((kind) => kind !== 'none' && kind !== 'unknown' && kind !== 'connection')
    )
      return;
    if (kinds.has('unknown')) this.unclear.push(type.name);
    else {
      this.problems.push(
        `@RateLimit on ${type.name}: no method of this provider is a handler, so no guard limits it; write @RateLimit on its asynchronous methods`,
      );
    }
  }

  /** The end of a handler is observed if its class was known before its instance, so not if a factory made it. */
  private checkEnd(type: Type, name: string, kind: HandlerKind): void {
    const method = (type.prototype as Record<string, Handler>)[name]!;
    if (kind === 'none' || kind === 'http' || isIntercepted(method)) return;
    const limit = this.routes.of(type, method)?.limits.find(({ isHeld, count }) => isHeld || count !== 'all');
    if (!limit) return;
    this.problems.push(
      `${limit.path}: needs the end of the handler, which cannot be observed, since a factory or a value provides ` +
        `${type.name}; provide the class, with useClass`,
    );
  }

  private check(type: Type, name: string, kind: HandlerKind): void {
    const method = (type.prototype as Record<string, object>)[name]!;
    const guards = [type, method].flatMap(guardsOn);
    if (guards.some((guard) => this.guards.isOurs(guard))) return;
    const path = `@RateLimit on ${type.name}.${name}`;
    if (kind === 'unknown') this.unclear.push(`${type.name}.${name}`);
    else if (kind === 'none') {
      this.problems.push(`${path}: this method is no handler, so no guard limits it; ${IN_THE_METHOD}`);
    } else if (kind === 'field') this.checkField(path, method);
    else this.checkGlobal(type, name, guards);
  }

  private checkGlobal(type: Type, name: string, guards: readonly unknown[]): void {
    if (this.guards.hasOursGlobally) return;
    if (this.guards.globals().length + guards.length > 0) {
      this.unclear.push(`${type.name}.${name}`); // Another guard may call RateLimitGuard.
      return;
    }
    this.problems.push(
      `@RateLimit on ${type.name}.${name}: no guard limits this handler, since registerGuard is false; add @UseGuards(RateLimitGuard)`,
    );
  }

  /** Nest runs no guard and no interceptor for a field resolver unless the options of GraphQLModule say so. */
  private checkField(path: string, method: object): void {
    const present = fieldEnhancers(this.modules);
    const needed = this.endsLate(method) ? ['guards', 'interceptors'] : ['guards'];
    if (needed.every((each) => present.includes(each))) return;
    const list = needed.map((each) => `'${each}'`).join(', ');
    this.problems.push(
      `${path}: no guard runs for a field resolver; set fieldResolverEnhancers: [${list}] in GraphQLModule, or ${IN_THE_METHOD}`,
    );
  }

  /** Whether a rule of a handler needs its end. */
  private endsLate(method: object): boolean {
    return this.routes.ofHandler(method)?.settles === true;
  }
}

function fieldEnhancers(modules: ModulesContainer): readonly string[] {
  return [...modules.values()].flatMap(({ providers }) => {
    const options = providers.get('GqlModuleOptions')?.instance as
      { readonly fieldResolverEnhancers?: readonly string[] } | undefined;
    return options?.fieldResolverEnhancers ?? [];
  });
}

/** The methods that Nest calls for the requests of other handlers: of guards and interceptors, and of middleware. */
const ENHANCING = ['canActivate', 'intercept'];

const MIDDLEWARE = [...ENHANCING, 'use'];

function enhancerProblems(modules: ModulesContainer): string[] {
  const problems = new Set<string>();
  for (const { injectables, middlewares, providers } of modules.values()) {
    for (const { metatype } of injectables.values()) add(metatype, ENHANCING);
    for (const { metatype } of providers.values()) add(metatype, ENHANCING);
    for (const { metatype } of middlewares.values()) add(metatype, MIDDLEWARE);
  }
  return [...problems];

  function add(type: unknown, names: readonly string[]): void {
    if (typeof type !== 'function' || typeof type.prototype !== 'object' || type.prototype === null) return;
    const isOnClass = targetRules(type).rules.length > 0;
    const name = names.find(
      (each) => methodRules(type, each).rules.length > 0 || (isOnClass && each in type.prototype),
    );
    if (name === undefined) return;
    problems.add(
      `@RateLimit on ${type.name}: Nest calls its ${name}() for the requests of other handlers, and no guard limits it; write @RateLimit on the routes, or ${IN_THE_METHOD}`,
    );
  }
}
