import type { OptionCheck } from '../algorithms/definition.js';
import { PREFIX } from '../core/key.js';
import { problem, RateLimitConfigError } from '../core/rate-limit-config.error.js';
import { HEADER_STYLES, headerStyleConflict, type HeaderStyle } from '../http/headers.js';
import { isRedisConnection, REDIS_ALLOWED } from '../stores/redis/connection.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const byName: OptionCheck = {
  allowed: 'an object of rules by their names, such as { login: { limit: 5 } }',
  accepts: (value) => isObject(value) && Object.values(value as object).every(isObject),
};

const fromOne: OptionCheck = {
  allowed: 'an integer from 1',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 1,
};

const isHeaders = (value: unknown): boolean =>
  value === false || [value].flat().every((style) => HEADER_STYLES.includes(style as HeaderStyle));

const CHECKS: Readonly<Record<keyof RateLimitModuleOptions, OptionCheck>> = {
  redis: {
    allowed: `${REDIS_ALLOWED}; absent for memory`,
    accepts: (value) => value === '' || isRedisConnection(value),
  },
  rules: byName,
  overrides: byName,
  defaults: { allowed: 'an object with fields of a rule', accepts: isObject },
  headers: {
    allowed: `${HEADER_STYLES.map((style) => `"${style}"`).join(', ')}, a list of these, or false`,
    accepts: isHeaders,
  },
  body: { allowed: 'a function of the decision', accepts: (value) => typeof value === 'function' },
  prefix: PREFIX,
  onStoreError: { allowed: '"allow" or "deny"', accepts: (value) => value === 'allow' || value === 'deny' },
  timeout: { ...fromOne, allowed: `${fromOne.allowed}, in milliseconds` },
  maxKeys: fromOne,
};

/**
 * Checks everything in the module's options but the rules, which are checked with the routes.
 *
 * @throws RateLimitConfigError naming everything that is wrong
 */
export function checkOptions(options: RateLimitModuleOptions): void {
  const problems: string[] = [];
  for (const [name, value] of Object.entries(options ?? {})) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof RateLimitModuleOptions] : undefined;
    if (!check) problems.push(`${name}: no such option; allowed: ${Object.keys(CHECKS).join(', ')}`);
    else if (value !== undefined && !check.accepts(value)) problems.push(problem(name, value, check.allowed));
  }
  const conflict = isHeaders(options?.headers) && headerStyleConflict([options.headers || []].flat());
  if (conflict) problems.push(`headers: ${conflict}`);
  if (problems.length > 0) throw new RateLimitConfigError(problems);
}
