import { ConfigurableModuleBuilder, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { RateLimitFilter } from './rate-limit.filter.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import type { RateLimitModuleExtras, RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from './tokens.js';

const extras: Required<RateLimitModuleExtras> = { isGlobal: true, registerGuard: true, registerFilter: true };

export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RateLimitModuleOptions>({
  optionsInjectionToken: RATE_LIMIT_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .setExtras<RateLimitModuleExtras>(extras, (definition, { isGlobal, registerGuard, registerFilter }) => {
    const providers: Provider[] = [];
    if (registerFilter ?? true) providers.push({ provide: APP_FILTER, useExisting: RateLimitFilter });
    if (registerGuard ?? true) providers.push({ provide: APP_GUARD, useExisting: RateLimitGuard });
    return {
      ...definition,
      global: isGlobal ?? true,
      providers: [...(definition.providers ?? []), ...providers],
    };
  })
  .build();
