import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';

const COUNT = 'an integer from 0 to 1000000000';
const DURATION = 'an integer with a unit, such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days';
const OR_FUNCTION = ', or a function of the ExecutionContext';

/** The allowed values in messages of `RateLimitConfigError`, by field. */
export const ALLOWED = {
  limit: `${COUNT}${OR_FUNCTION}`,
  window: `${DURATION}${OR_FUNCTION}`,
  /** The window of a `fixed-window`. */
  fixedWindow: `${DURATION}${OR_FUNCTION}; or "day", "week", "month"`,
  algorithm: Object.keys(algorithms)
    .map((name) => `"${name}"`)
    .join(', '),
  name: '1 to 64 printable ASCII characters, and no duration such as "1m"',
  by:
    '"ip", "user", "api-key", "everyone", "authorization", "cookie", a header with a hyphen in its name, ' +
    '{ header: "name" } for any other header (in a variable header:name), { ip: "name" } for a header with the IP ' +
    'address of the client (ip:name), a function, or a list of these',
  allowList: 'a list of IPs and CIDR ranges, such as ["10.0.0.0/8", "::1"]',
  rules: 'an object of rules by their names, such as { login: { limit: 5 } }',
  options:
    'redis, rules, onDemand, overrides, liveRules, defaults, headers, denialIdHeader, body, transports, onDeniedEvent, prefix, application, onStoreError, health, instances, denyCache, timeout, functions, maxKeys, warnings, isGlobal, registerGuard, registerFilter',
  /** Numbers and durations that are not functions. */
  count: COUNT,
  duration: DURATION,
} as const;

const FIELDS =
  'name, algorithm, limit, cost, unit, block, mode, per, onStoreError, maxWait, trial, alerts, by, scope, onMissingSubject, count, settle, onError, plans, plan, skipIf, allowList, ipv6Prefix';

/** The fields of a rule on a route, by its algorithm. */
export const FIELDS_OF = Object.fromEntries(
  Object.values(algorithms).map((algorithm) => {
    const isHeld = 'leases' in algorithm;
    const fields = isHeld ? FIELDS.replace('alerts, ', '').replace('settle, onError, ', '') : FIELDS;
    const options = Object.keys(algorithm.options);
    return [algorithm.name, [fields, ...options, ...(isHeld ? [] : ['window'])].join(', ')];
  }),
) as Record<AlgorithmName, string>;

/** The message of a `RateLimitConfigError` with these problems. */
export function configMessage(...problems: string[]): string {
  return ['Rate limit configuration is wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n');
}
