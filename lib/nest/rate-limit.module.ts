import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { HttpAdapterHost, ModuleRef, ModulesContainer } from '@nestjs/core';
import type { BaseStore } from '../contracts/base-store.js';
import { rejectAny, rejectConfig } from '../contracts/rate-limit-config.error.js';
import { RateLimitEvents } from '../limiter/events.js';
import { Engine } from '../limiter/engine.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { Guards } from './startup/guards.js';
import { Warnings } from './warnings.js';
import { LOADED_LAZILY, WITHOUT_OPTIONS } from './rules/module-arguments.js';
import { LiveRules, NoLiveRules } from './live-rules.js';
import { StartCheck } from './startup/start-check.js';
import { Admission } from './request/admission.js';
import { BeforeRouting } from './request/before-routing.js';
import { Responder } from './request/responder.js';
import { RateLimitFilter } from './rate-limit.filter.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitHealth } from './rate-limit.health.js';
import { CheckedModuleClass } from './rate-limit.module-definition.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RateLimitService } from './rate-limit.service.js';
import { RouteRules } from './startup/route-rules.js';
import { Routes } from './request/routes.js';
import { TransportLoader } from './request/transport-loader.js';
import { DeclaredRules } from './rules/declared-rules.js';
import { RuleTable } from './rules/rule-table.js';
import { SubjectChecks } from './checks/subject-checks.js';
import { createClient, type ClientHolder, createService, createStore } from './startup/create-store.js';
import {
  ARGUMENT_PROBLEMS,
  CLIENT_HOLDER,
  GRAPHQL_RESPONSE,
  RATE_LIMIT_OPTIONS,
  RATE_LIMIT_REDIS,
  RATE_LIMIT_STORE,
  REGISTERS_FILTER,
  TRANSPORT_LOADER,
} from './tokens.js';
import { observeResults, declaredClasses, hasOtherHandlers } from './startup/handlers.js';
import { ROUTING_LIMITER, RoutingLimiter } from './limit-before-routing.js';
import { InjectedLimiter, METHOD_LIMITER } from './limited-method.js';
import { ProviderMethods } from './startup/provider-methods.js';
import { Walk } from './startup/walk.js';

async function createLiveRules(
  options: RateLimitModuleOptions | undefined,
  table: RuleTable,
  warnings: Warnings,
): Promise<LiveRules> {
  const source = options?.liveRules;
  if (!source) return new NoLiveRules(table);
  const { SourceRules } = await import('../live/source-rules.js');
  return new SourceRules(table, source, warnings);
}

/** @throws RateLimitConfigError if the arguments of the import are invalid, whatever the options are */
async function createDeclared(
  options: RateLimitModuleOptions,
  problems: readonly string[],
  { listening }: HttpAdapterHost,
): Promise<DeclaredRules> {
  rejectAny(problems);
  if (listening) rejectConfig(LOADED_LAZILY);
  return DeclaredRules.of(options);
}

/**
 * Loads the transports that the application has, before Nest reads the enhancers of their handlers. Apollo finds the result
 * among the providers.
 */
async function openTransports(
  loader: TransportLoader,
  modules: ModulesContainer,
  declared: DeclaredRules,
  admission: Admission,
): Promise<object | undefined> {
  await observeResults(modules, declared, admission);
  const hasGraphql = [...modules.values()].some(({ providers }) => providers.has('GqlModuleOptions'));
  const isNeeded = hasGraphql || [...declaredClasses(modules)].some(hasOtherHandlers);
  return isNeeded ? (await loader.open()).graphql : undefined;
}

const providers: Provider[] = [
  { provide: RATE_LIMIT_STORE, useFactory: createStore, inject: [DeclaredRules, Warnings] },
  { provide: CLIENT_HOLDER, useFactory: createClient, inject: [RATE_LIMIT_STORE, DeclaredRules] },
  { provide: RATE_LIMIT_REDIS, useFactory: ({ client }: ClientHolder) => client, inject: [CLIENT_HOLDER] },
  {
    provide: DeclaredRules,
    useFactory: createDeclared,
    inject: [RATE_LIMIT_OPTIONS, ARGUMENT_PROBLEMS, HttpAdapterHost],
  },
  // forRoot and forRootAsync override these.
  { provide: RATE_LIMIT_OPTIONS, useValue: {} },
  { provide: ARGUMENT_PROBLEMS, useValue: [WITHOUT_OPTIONS] },
  { provide: REGISTERS_FILTER, useValue: true },
  {
    provide: RateLimitService,
    useFactory: createService,
    inject: [RATE_LIMIT_STORE, DeclaredRules, RuleTable, LiveRules, Routes, Warnings],
  },
  { provide: LiveRules, useFactory: createLiveRules, inject: [RATE_LIMIT_OPTIONS, RuleTable, Warnings] },
  { provide: RateLimiter, useExisting: RateLimitService },
  { provide: Engine, useFactory: ({ engine }: RateLimiter) => engine, inject: [RateLimiter] },
  { provide: METHOD_LIMITER, useClass: InjectedLimiter },
  {
    provide: TRANSPORT_LOADER,
    useFactory: (module: ModuleRef) =>
      new TransportLoader(async () =>
        module.create((await import('../transports/handler-enhancers.js')).HandlerEnhancers),
      ),
    inject: [ModuleRef],
  },
  {
    provide: GRAPHQL_RESPONSE,
    useFactory: openTransports,
    inject: [TRANSPORT_LOADER, ModulesContainer, DeclaredRules, Admission],
  },
  { provide: RateLimitEvents, useFactory: ({ events }: RateLimiter) => events, inject: [RateLimiter] },
  { provide: ROUTING_LIMITER, useClass: RoutingLimiter },
  Admission,
  BeforeRouting,
  Guards,
  ProviderMethods,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitHealth,
  Responder,
  RouteRules,
  Routes,
  RuleTable,
  StartCheck,
  SubjectChecks,
  Walk,
  Warnings,
];

/**
 * Applies the rules of its options and of decorators to the handlers of the application. Import it once.
 *
 * `forRoot` takes {@link RateLimitModuleOptions} and {@link RateLimitModuleExtras}. `forRootAsync` takes
 * `useFactory`, `useClass` or `useExisting` with `inject` and `imports`, and the extras beside them. A class
 * has the method `createRateLimitOptions`.
 *
 * @example
 * RateLimitModule.forRootAsync({
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ redis: config.get('REDIS_URL') }),
 * });
 */
@Module({ providers, exports: providers })
export class RateLimitModule
  extends CheckedModuleClass
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  /** @internal */
  constructor(
    @Inject(RATE_LIMIT_STORE) private readonly store: BaseStore,
    @Inject(CLIENT_HOLDER) private readonly holder: ClientHolder,
    @Inject(RateLimiter) private readonly limiter: Partial<RateLimiter>,
    @Inject(RuleTable) private readonly table: RuleTable,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(LiveRules) private readonly live: LiveRules,
  ) {
    super();
  }

  /**
   * Waits for the first connection to Redis, at most a second, and logs a warning if there is none.
   *
   * @internal
   */
  async onApplicationBootstrap(): Promise<void> {
    const { redis, onStoreError } = this.options;
    if (redis && onStoreError === undefined) {
      const { warnOfFallbacks } = await import('./rules/rule-fallbacks.js');
      warnOfFallbacks(this.table.known, this.warnings);
    }
    await Promise.all([this.limiter.ready!(), this.live.follower?.start()]);
  }

  /**
   * Ends the waits of requests, because Nest closes the server after its last request.
   *
   * @internal
   */
  async beforeApplicationShutdown(): Promise<void> {
    await this.limiter.engine?.endWaits(); // None, if it was overridden, so that the start has failed.
  }

  /**
   * Closes the connections that the module opened. A client that the user passed stays open.
   *
   * @internal
   */
  async onApplicationShutdown(): Promise<void> {
    await this.live.follower?.close();
    await this.limiter.close?.();
    await Promise.all([this.store.close(), this.holder.close()]);
  }
}
