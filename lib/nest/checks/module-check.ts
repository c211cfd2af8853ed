import { Catch, Inject, Logger, type ExceptionFilter, type OnApplicationBootstrap } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';
import { rejectAny, rejectConfig } from '../../contracts/rate-limit-config.error.js';

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
  /**
   * The check that runs for each module loaded after the start of an application. Nest calls no lifecycle hooks for these
   * modules.
   */
  static readonly lateChecks = new WeakMap<ModulesContainer, () => void>();

  /** @throws RateLimitConfigError if its module was loaded lazily, and a decorated method in it cannot be limited */
  constructor(@Inject(ModulesContainer) private readonly modules: ModulesContainer) {
    ModuleCheck.lateChecks.get(modules)?.();
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

const SUBJECT = '`subjectOf(context, rule)`, or the field `by` of a rule';

const DENY = '`deny(context, decision)`, or the option `body`';

/** The members that subclasses of throttler's guard define, with what replaces them. */
const FOREIGN_HOOKS: Readonly<Record<string, string>> = {
  errorMessage: DENY,
  generateKey: `${SUBJECT}; \`scope: 'shared'\` counts several routes together`,
  getErrorMessage: DENY,
  getRequestResponse: SUBJECT,
  getTracker: SUBJECT,
  handleRequest: '`shouldSkip(context)`, `subjectOf(context, rule)` and `deny(context, decision)`',
  headerPrefix: "the option `headers`, such as headers: 'throttler'",
  throwThrottlingException: DENY,
};

/**
 * Throws if a guard defines members that only throttler's guard calls: they would never run.
 *
 * @param guard an instance, since a member may be a class field
 * @throws RateLimitConfigError with what to write instead of each
 */
export function checkForeignHooks(guard: object): void {
  const foreign = Object.entries(FOREIGN_HOOKS).filter(([name]) => name in guard);
  const { name: type } = guard.constructor;
  const got = 'got a hook of @nestjs/throttler, which is never called here; write';
  rejectAny(foreign.map(([name, instead]) => `${type}.${name}: ${got} ${instead}`));
}

/**
 * Throws if Nest injects nothing into the guard or the filter: each request, or each denied one, would fail.
 *
 * @param dependency a method of an argument of its constructor
 * @throws RateLimitConfigError
 */
export function checkInjected({ constructor }: object, part: 'Guard' | 'Filter', dependency: unknown): void {
  if (typeof dependency === 'function') return;
  rejectConfig(
    `new ${constructor.name}(): created without its dependencies; RateLimitModule registers one, so remove \`useGlobal${part}s\`, or ` +
      `write @Use${part}s(RateLimit${part}); a subclass has no constructor of its own, and injects into properties: ` +
      '@Inject(Users) readonly users: Users',
  );
}
