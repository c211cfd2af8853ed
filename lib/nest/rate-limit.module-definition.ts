import {
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type FactoryProvider,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { RateLimitFilter } from './rate-limit.filter.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import type { StandardSchema } from './checks/options-schema.js';
import { asyncProblems, createOptions, rootProblems } from './rules/module-arguments.js';
import type { OptionProblem } from './rules/decorated-rule.js';
import type { RateLimitModuleExtras, RateLimitModuleOptions } from './rate-limit.options.js';
import { ARGUMENT_PROBLEMS, RATE_LIMIT_OPTIONS, REGISTERS_FILTER } from './tokens.js';

const extras: Required<RateLimitModuleExtras> = { isGlobal: true, registerGuard: true, registerFilter: true };

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RateLimitModuleOptions>({
  optionsInjectionToken: RATE_LIMIT_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .setExtras<RateLimitModuleExtras>(extras, (definition, { isGlobal, registerGuard, registerFilter }) => {
    const providers: Provider[] = [{ provide: REGISTERS_FILTER, useValue: registerFilter ?? true }];
    if (registerFilter ?? true) providers.push({ provide: APP_FILTER, useExisting: RateLimitFilter });
    if (registerGuard ?? true) providers.push({ provide: APP_GUARD, useExisting: RateLimitGuard });
    return {
      ...definition,
      global: isGlobal ?? true,
      providers: [...(definition.providers ?? []), ...providers],
    };
  })
  .build();

type AsyncOptions<Options> = ConfigurableModuleAsyncOptions<Options, 'createRateLimitOptions'>;

/** The argument of `forRootAsync`: a factory or a class that creates the options, and the extras. */
export type RateLimitModuleAsyncOptions<Given = RateLimitModuleOptions> = RateLimitModuleExtras &
  (unknown extends Given
    ? AsyncOptions<Given>
    : [OptionProblem<Given>] extends [never]
      ? AsyncOptions<RateLimitModuleOptions>
      : Partial<Record<'useFactory' | 'useClass' | 'useExisting', OptionProblem<Given>>> &
          AsyncOptions<RateLimitModuleOptions>);

/** Nest's `forRoot` and `forRootAsync`, with errors for arguments that Nest would ignore. */
export class CheckedModuleClass extends ConfigurableModuleClass {
  /**
   * Imports the module with options.
   *
   * @param options without them, the module counts in memory and has only the rules of decorators
   */
  static override forRoot(options: RateLimitModuleOptions & RateLimitModuleExtras = {}): DynamicModule {
    const problems = rootProblems(options);
    return reporting(problems, super.forRoot(problems.length > 0 ? {} : options));
  }

  /** Imports the module with options that a factory or a class creates. */
  static override forRootAsync<Given extends RateLimitModuleOptions | object>(
    options: RateLimitModuleAsyncOptions<Given>,
  ): DynamicModule {
    const problems = asyncProblems(options);
    if (problems.length > 0) return reporting(problems, super.forRoot({}));
    const definition = reporting([], super.forRootAsync(options));
    if (options.useFactory) return definition;
    return { ...definition, providers: definition.providers!.map(withCheckedClass) };
  }
}

/** Nest would call the method of the class without checking that it exists. */
function withCheckedClass(provider: Provider): Provider {
  const isOptions = typeof provider === 'object' && provider.provide === RATE_LIMIT_OPTIONS;
  return isOptions ? { ...(provider as FactoryProvider), useFactory: createOptions } : provider;
}

/** Returns a module that stops the application at start if there are problems. */
function reporting(problems: readonly string[], definition: DynamicModule): DynamicModule {
  const provider = { provide: ARGUMENT_PROBLEMS, useValue: problems };
  return { ...definition, providers: [...(definition.providers ?? []), provider] };
}

/** @param base the options that variables override; absent if the value is the options */
function schemaOf<Value>(base?: RateLimitModuleOptions): StandardSchema<Value> {
  const validate = async (value: unknown) =>
    (await import('./checks/options-schema.js')).validated(value as Value, base);
  return { '~standard': { version: 1, vendor: 'nestjs-redis-rate-limit', validate } };
}

/**
 * A Standard Schema (https://standardschema.dev) of the options of `RateLimitModule.forRoot`, such as those in a file. It
 * finds what stops an application at start, in the same sentences, except for rules of decorators.
 *
 * @example
 * const { issues } = await rateLimitSchema['~standard'].validate(JSON.parse(text));
 */
export const rateLimitSchema: StandardSchema<RateLimitModuleOptions> = schemaOf();

/**
 * Returns a Standard Schema of environment variables, for `validationSchema` of ConfigModule. It finds those of the form
 * `RATE_LIMIT__LOGIN__LIMIT` that are misspelled or do not fit the rules of the options. Variables of other rules are
 * checked at start.
 *
 * @param options the options of the module, with the rules that the variables override
 * @example
 * ConfigModule.forRoot({ validationSchema: rateLimitEnvSchema({ onDemand }) })
 */
export function rateLimitEnvSchema(options: RateLimitModuleOptions = {}): StandardSchema<object> {
  return schemaOf(options);
}
