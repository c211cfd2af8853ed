import { registerAs } from '@nestjs/config';
import type { RateLimitModuleOptions } from 'nestjs-redis-rate-limit';

/**
 * Limits that are configuration: the rule of every route, and values that operations set.
 * `RATE_LIMIT__<RULE>__<FIELD>` in the environment overrides them, see `AppModule`.
 */
export const rateLimitConfig = registerAs('rateLimit', () => {
  const options: RateLimitModuleOptions = {
    rules: { default: { window: '1m', limit: 100, algorithm: 'sliding-window-counter' } },
    overrides: { export: { window: '1h', limit: 10 } },
    prefix: process.env['RATE_LIMIT_PREFIX'],
    timeout: Number(process.env['RATE_LIMIT_TIMEOUT'] ?? 50),
  };
  return options;
});
