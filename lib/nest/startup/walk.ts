import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { rejectAny, rejectConfig } from '../../contracts/rate-limit-config.error.js';
import type { BaseStore } from '../../contracts/base-store.js';
import { ModuleCheck } from '../checks/module-check.js';
import { loadConditions } from '../request/route-limit.js';
import type { TransportLoader } from '../request/transport-loader.js';
import { RATE_LIMIT_STORE, TRANSPORT_LOADER } from '../tokens.js';
import { RateLimitHealth } from '../rate-limit.health.js';
import { RateLimitService } from '../rate-limit.service.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import { enhancersOf } from '../handler-interceptor.js';
import { loadNeeds } from '../rules/named-parts.js';
import { methodRules, targetRules } from '../rate-limit.decorator.js';
import {
  classes,
  classOf,
  handlersOf,
  hasOtherHandlers,
  IN_THE_METHOD,
  isClass,
  isDecorated,
  methodsOf,
} from './handlers.js';
import { ProviderMethods } from './provider-methods.js';
import { RouteRules } from './route-rules.js';
import { StartCheck } from './start-check.js';

/** Walks over the controllers and providers at start: each check gets each class, or each instance, once. */
@Injectable()
export class Walk implements OnModuleInit {
  private readonly seen = new WeakSet<object>();

  constructor(
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(RouteRules) private readonly rules: RouteRules,
    @Inject(ProviderMethods) private readonly calls: ProviderMethods,
    @Inject(StartCheck) private readonly check: StartCheck,
    @Inject(TRANSPORT_LOADER) private readonly transports: TransportLoader,
    @Inject(RateLimitService) private readonly service: RateLimitService,
    @Inject(RATE_LIMIT_STORE) private readonly store: BaseStore,
  ) {}

  /** @throws RateLimitConfigError listing all problems of all rules and handlers; an application that cannot start leaves nothing open */
  async onModuleInit(): Promise<void> {
    const isOwn = this.service instanceof RateLimitService;
    try {
      if (!isOwn) rejectConfig(REPLACED_SERVICE);
      await this.walk();
    } catch (error) {
      if (isOwn) await this.service.close();
      await this.store.close();
      throw error;
    }
  }

  private async walk(): Promise<void> {
    if ([...classes(this.modules)].some(hasOtherHandlers)) await this.transports.open();
    await this.rules.compileOptions();
    if (injectsOperations(this.modules)) await this.service.load();
    await loadNeeds(); // Decorators of classes that were imported while Nest created the providers.
    this.rules.finish([...this.visitNew(true), ...(this.transports.current?.problems() ?? [])]);
    if (this.rules.areConditional) await loadConditions();
    this.calls.start();
    ModuleCheck.lateChecks.set(this.modules, () => {
      rejectAny(this.visitNew(false));
      this.check.onApplicationBootstrap();
    });
  }

  /** Visits what was added since the last walk. The rules of a lazily loaded class are compiled with its first request. */
  private visitNew(compiles: boolean): readonly string[] {
    const enhancers = limitedEnhancers(this.modules, this.config);
    const problems = [...enhancers.values()];
    for (const each of classes(this.modules)) {
      const { type, isController, instance } = each;
      if (enhancers.has(type) || !(isController || isDecorated(type))) continue;
      const methods = handlersOf(type, isController);
      if (this.isNew(type)) {
        if (compiles) this.rules.compile(methods);
        problems.push(...this.check.problemsOf(each, methods));
      }
      if (instance && this.isNew(instance)) problems.push(...this.calls.limit(instance, methods));
    }
    return problems;
  }

  private isNew(visited: object): boolean {
    if (this.seen.has(visited)) return false;
    this.seen.add(visited);
    return true;
  }
}

const REPLACED_SERVICE =
  'RateLimitService: overridden; in a test, use RateLimitTesting.install(builder), or leave RateLimitModule out';

/** What Nest injects; it has no list for a class without any. */
type Injected = { readonly token: unknown } | undefined;

/** What runs operations of programs. */
const OPERATING: readonly unknown[] = [RateLimitService, RateLimiter, RateLimitHealth];

/** Whether the application injects what runs operations: then their code loads at start, not with the first of them. */
function injectsOperations(modules: ModulesContainer): boolean {
  const users = [...modules.values()]
    .filter(({ providers }) => !providers.has(RateLimitService))
    .flatMap(({ controllers, providers, injectables }) => [controllers, providers, injectables])
    .flatMap((all) => [...all.values()]);
  return users.some((user) => {
    const parameters = user.getCtorMetadata() as readonly Injected[] | undefined;
    const properties = user.getPropertiesMetadata() as readonly { readonly wrapper: Injected }[] | undefined;
    const injected = [...(parameters ?? []), ...(properties ?? []).map(({ wrapper }) => wrapper)];
    return injected.some((one) => OPERATING.includes(one?.token));
  });
}

/** The methods that Nest calls for the requests of other handlers: of guards and interceptors, pipes, filters, middleware. */
const OF_PROVIDERS = ['canActivate', 'intercept'];

const OF_ENHANCERS = [...OF_PROVIDERS, 'transform', 'catch'];

/** The metadata with the enhancers of a class or a handler. An instance is no provider of any module. */
const PLACES = ['__guards__', '__interceptors__', '__pipes__', '__exceptionFilters__'];

/** Returns the problems of `@RateLimit` on guards, interceptors, pipes, filters and middleware, by their classes. */
function limitedEnhancers(modules: ModulesContainer, config: ApplicationConfig): Map<unknown, string> {
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
  for (const { type } of classes(modules)) {
    const { prototype } = type as { prototype: Record<string, object> };
    for (const target of [type, ...methodsOf(type).map((name) => prototype[name]!)]) {
      for (const place of PLACES) yield* enhancersOf(target, place);
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
