import { Catch, Inject, Logger, type ExceptionFilter, type OnApplicationBootstrap } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';

/** The code of the warning. It is not one of `WARNING_CODES`, because the module is missing. */
export const NO_MODULE = 'RL_NO_MODULE';

class NeverThrown extends Error {}

/**
 * Reports @RateLimit in an application without RateLimitModule. The decorator adds this class as an exception
 * filter, because Nest creates the filters of a handler but does not call them for each request.
 */
@Catch(NeverThrown)
export class ModuleCheck implements ExceptionFilter, OnApplicationBootstrap {
  private static readonly checked = new WeakSet<ModulesContainer>();
  private static readonly lateChecks = new WeakMap<ModulesContainer, (() => void)[]>();

  /** @throws RateLimitConfigError if its module was loaded lazily, and a decorated method in it cannot be limited */
  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {
    for (const check of ModuleCheck.lateChecks.get(modules) ?? []) check();
  }

  /**
   * Adds a check that runs for each module loaded after the start of the application. Nest calls no lifecycle hooks
   * for these modules.
   */
  static checkLate(modules: ModulesContainer, check: () => void): void {
    ModuleCheck.lateChecks.set(modules, [...(ModuleCheck.lateChecks.get(modules) ?? []), check]);
  }

  onApplicationBootstrap(): void {
    const { modules } = this;
    if (ModuleCheck.checked.has(modules)) return;
    ModuleCheck.checked.add(modules);
    if ([...modules.values()].some(({ providers }) => providers.has(RATE_LIMIT_OPTIONS))) return;
    new Logger('RateLimit').warn(
      '@RateLimit limits nothing, since RateLimitModule is not imported. Add RateLimitModule.forRoot() to the ' +
        `imports of the root module. (${NO_MODULE}, see docs/warnings.md)`,
    );
  }

  catch(exception: Error): never {
    throw exception;
  }
}
