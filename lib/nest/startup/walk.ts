import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { rejectAny } from '../../contracts/rate-limit-config.error.js';
import { ModuleCheck } from '../checks/module-check.js';
import { loadConditions } from '../request/route-limit.js';
import { TransportLoader } from '../request/transport-loader.js';
import { limitedEnhancers } from './enhancers.js';
import { classes, handlersOf, hasOtherHandlers, isDecorated } from './handlers.js';
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
    @Inject(TransportLoader) private readonly transports: TransportLoader,
  ) {}

  /** @throws RateLimitConfigError listing all problems of all rules and handlers */
  async onModuleInit(): Promise<void> {
    if ([...classes(this.modules)].some(hasOtherHandlers)) await this.transports.open();
    await this.rules.compileOptions();
    this.rules.finish([...this.visitNew(true), ...(this.transports.current?.problems() ?? [])]);
    if (this.rules.areConditional) await loadConditions();
    this.calls.start();
    ModuleCheck.checkLate(this.modules, () => {
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
        if (compiles) this.rules.compile(type, methods);
        problems.push(...this.check.problemsOf(each, methods));
      }
      if (instance && this.isNew(instance)) problems.push(...this.calls.limit(instance, type, methods));
    }
    return problems;
  }

  private isNew(visited: object): boolean {
    if (this.seen.has(visited)) return false;
    this.seen.add(visited);
    return true;
  }
}
