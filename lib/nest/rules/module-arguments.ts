import { isFields } from '../../contracts/fields.js';
import { unknownOption, valueProblems, type OptionChecks } from '../../contracts/options.js';
import { problem, rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { EXTRAS, isModuleOption } from './check-options.js';

/** The problem of a module that is imported as a class. */
export const WITHOUT_OPTIONS =
  'RateLimitModule: imported without options; write RateLimitModule.forRoot({ … }) in the root module, ' +
  'and remove it from other modules: it is global';

/** The ways in which `forRootAsync` can create the options; exactly one must be given. */
const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;

const LIST = { allowed: 'a list', accepts: Array.isArray };

const ASYNC: OptionChecks = {
  useFactory: { allowed: 'a function', accepts: (value) => typeof value === 'function' },
  useClass: { allowed: 'a class', accepts: (value) => typeof value === 'function' },
  useExisting: { allowed: 'the token of a provider', accepts: (value) => value !== null },
  inject: LIST,
  imports: LIST,
  provideInjectionTokensFrom: LIST,
  ...EXTRAS,
};

/** The problem of a module that is loaded after the application has started. */
export const LOADED_LAZILY =
  'RateLimitModule: loaded lazily, so that no guard limits any route; import it in the root module';

/** The problems of the arguments of `forRoot`, without the options, which are checked where they are used. */
export function rootProblems(given: unknown): string[] {
  if (Array.isArray(given) || typeof given === 'string') return []; // Nest spreads both into options
  if (!isFields(given)) {
    const fix = given instanceof Promise ? 'write forRootAsync({ useFactory: () => … })' : undefined;
    return [problem('the options of RateLimitModule', given, 'an object', fix)];
  }
  const source = SOURCES.find((name) => Object.hasOwn(given, name));
  if (source !== undefined) return [`${source}: no option of forRoot; write forRootAsync({ ${source}: … })`];
  return Object.entries(EXTRAS).flatMap(([name, check]) => valueProblems(name, given[name], check));
}

/** The problems of the arguments of `forRootAsync`. */
export function asyncProblems(given: unknown): string[] {
  if (!isFields(given))
    return [problem('the options of forRootAsync', given, 'an object such as { useFactory: () => ({ … }) }')];
  const values = Object.entries(given).flatMap(([name, value]) => {
    if (Object.hasOwn(ASYNC, name)) return valueProblems(name, value, ASYNC[name]!);
    return isModuleOption(name)
      ? [`${name}: beside the factory it has no effect; return it from the factory: () => ({ ${name}: … })`]
      : [unknownOption(name, name, Object.keys(ASYNC), ' of forRootAsync')];
  });
  const sources = SOURCES.filter((name) => given[name] !== undefined);
  if (sources.length !== 1) {
    const got = sources.join(' and ') || 'none of them';
    values.push(`useFactory, useClass, useExisting: got ${got}; allowed: one of them`);
  }
  if (given['inject'] !== undefined && given['useFactory'] === undefined) {
    values.push('inject: has no effect without useFactory; inject in the constructor of the class');
  }
  return values;
}

/**
 * Returns the options that a class creates.
 *
 * @throws RateLimitConfigError if it cannot
 */
export function createOptions(factory: unknown): unknown {
  const { createRateLimitOptions } = (factory ?? {}) as { createRateLimitOptions?: unknown };
  if (typeof createRateLimitOptions === 'function') return createRateLimitOptions.call(factory) as unknown;
  rejectConfig(
    'useClass, useExisting: got a class without the method createRateLimitOptions, which returns the options',
  );
}
