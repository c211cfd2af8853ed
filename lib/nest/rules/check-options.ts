import type { OptionCheck } from '../../algorithms/definition.js';
import { isFields } from '../../contracts/fields.js';
import { readCount } from '../../contracts/count.js';
import { readFields, refusal, RULE_FIELDS } from '../../rules/rule-fields.js';
import { PREFIX } from '../../rules/key.js';
import { INSTANCES } from '../../limiter/options.js';
import { problem } from '../../rules/rate-limit-config.error.js';
import { HEADER_STYLES, headerStyleConflict, type HeaderStyle } from '../../http/headers.js';
import { isRedisConnection, redisProblems } from '../../stores/redis/redis-option.js';
import { REDIS_ALLOWED } from '../../stores/redis/redis-url.js';
import { foreignOptionFix, spreadProblem } from './foreign-options.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { isWarningsOption, WARNINGS_ALLOWED } from '../warning-codes.js';

const byName: OptionCheck = {
  allowed: 'an object of rules by their names, such as { login: { limit: 5 } }',
  accepts: (value) => isFields(value) && Object.values(value as object).every(isFields),
};

const fromOne: OptionCheck = {
  allowed: 'an integer from 1',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 1,
  read: readCount,
};

const isHeaders = (value: unknown): boolean =>
  value === false || [value].flat().every((style) => HEADER_STYLES.includes(style as HeaderStyle));

const isHealth = (value: unknown): boolean =>
  isFields(value) &&
  Object.entries(value).every(
    ([name, is]) => name === 'fallbackIsDown' && (is === undefined || typeof is === 'boolean'),
  );

const CHECKS: Readonly<Record<keyof RateLimitModuleOptions, OptionCheck>> = {
  redis: { allowed: REDIS_ALLOWED, accepts: isRedisConnection },
  rules: byName,
  onDemand: byName,
  overrides: byName,
  defaults: { allowed: 'an object with fields of a rule', accepts: isFields },
  headers: {
    allowed: `${HEADER_STYLES.map((style) => `"${style}"`).join(', ')}, a list of these, or false`,
    accepts: isHeaders,
  },
  body: { allowed: 'a function of the decision', accepts: (value) => typeof value === 'function' },
  onDecision: {
    allowed: 'a function of the decision and the ExecutionContext',
    accepts: (value) => typeof value === 'function',
  },
  prefix: PREFIX,
  onStoreError: RULE_FIELDS.onStoreError,
  health: { allowed: 'an object such as { fallbackIsDown: true }', accepts: isHealth },
  instances: INSTANCES,
  denyCache: { allowed: 'true or false', accepts: (value) => typeof value === 'boolean' },
  timeout: { ...fromOne, allowed: `${fromOne.allowed}, in milliseconds` },
  functions: { allowed: 'true or false', accepts: (value) => typeof value === 'boolean' },
  maxKeys: fromOne,
  warnings: { allowed: WARNINGS_ALLOWED, accepts: isWarningsOption },
};

/** What Nest needs before a factory runs. */
const EXTRAS: readonly string[] = ['isGlobal', 'registerGuard', 'registerFilter'];

/** Says what is wrong with the module's options, but for the rules, which are checked with the routes. */
export function optionProblems(options: unknown): string[] {
  if (!isFields(options)) return [problem('the options of RateLimitModule', options, 'an object')];
  const spread = spreadProblem(options);
  if (spread !== undefined) return [spread];
  const problems = Object.entries(options).flatMap(([name, value]) => {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof RateLimitModuleOptions] : undefined;
    if (EXTRAS.includes(name))
      return [`${name}: got in the result of a factory; write it beside \`useFactory\``];
    if (!check) {
      const fix =
        foreignOptionFix(name, value) ?? `no such option; allowed: ${Object.keys(CHECKS).join(', ')}`;
      return [`${name}: ${fix}`];
    }
    if (value === undefined || check.accepts(check.read ? check.read(value) : value)) return [];
    return name === 'redis' ? redisProblems(value) : [refusal(name, value, check)];
  });
  const { headers } = options as RateLimitModuleOptions;
  const conflict = isHeaders(headers) && headerStyleConflict([headers || []].flat());
  return conflict ? [...problems, `headers: ${conflict}`] : problems;
}

/** The options with counts as numbers that were given as strings of digits. */
export function readOptions(options: RateLimitModuleOptions): RateLimitModuleOptions {
  return readFields(options, CHECKS);
}

/** The part of wrong options whose rules can be checked all the same, so that one message names everything. */
export function readableOptions(options: unknown): RateLimitModuleOptions {
  if (!isFields(options)) return {};
  const readable = (['rules', 'onDemand', 'defaults', 'overrides'] as const).filter((name) =>
    CHECKS[name].accepts(options[name]),
  );
  return Object.fromEntries(readable.map((name) => [name, options[name]]));
}
