/** What the messages of `RateLimitConfigError` say is allowed, field by field. */
export const ALLOWED = {
  limit: 'an integer from 0 to 1000000000, or a function of the ExecutionContext',
  window:
    'milliseconds above 0, or a string such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days, or a function of the ExecutionContext',
  algorithm: '"fixed-window", "sliding-window-log", "sliding-window-counter", "token-bucket", "gcra"',
  name: '1 to 64 printable ASCII characters',
  by: '"ip", "user", "api-key", "everyone", the name of a header, a function, or a list of these',
  allowList: 'a list of IPs and CIDR ranges, such as ["10.0.0.0/8", "::1"]',
  /** The fields that every rule has. */
  fields: 'name, algorithm, limit, window, cost, by, scope, onMissingSubject, skipIf, allowList, ipv6Prefix',
  rules: 'an object of rules by their names, such as { login: { limit: 5 } }',
  options: 'redis, rules, overrides, defaults, headers, body, prefix, onStoreError, timeout, maxKeys',
} as const;

/** The message of a `RateLimitConfigError` with these problems. */
export function configMessage(...problems: string[]): string {
  return ['Rate limit configuration is wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n');
}
