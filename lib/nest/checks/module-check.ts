import { Catch, Inject, Logger, type ExceptionFilter, type OnApplicationBootstrap } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';

/** The code of the warning. It is none of the module's, since there is no module. */
export const NO_MODULE = 'RL_NO_MODULE';

class NeverThrown extends Error {}

/**
 * Reports @RateLimit in an application without RateLimitModule. Nest creates it, since the decorator adds it as
 * an exception filter: the one kind of class that Nest creates for a handler and no request passes.
 */
@Catch(NeverThrown)
export class ModuleCheck implements ExceptionFilter, OnApplicationBootstrap {
  private static readonly checked = new WeakSet<ModulesContainer>();

  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {}

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
