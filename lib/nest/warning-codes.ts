import { hasFlags, type OptionCheck } from '../contracts/options.js';

/** Every code of a warning. docs/warnings.md has a section for each. */
export const WARNING_CODES = [
  'RL_API_KEY_ALONE',
  'RL_CALLERS_TOGETHER',
  'RL_CHANGES_UNREPORTED',
  'RL_CLOCKS_DIFFER',
  'RL_CONCURRENCY_FALLBACK',
  'RL_CORS_AFTER_LIMIT',
  'RL_DASHBOARD_OPEN',
  'RL_DATA_LOST',
  'RL_EVENT_DENIED',
  'RL_FORWARDED_UNTRUSTED',
  'RL_HEADERS_UNEXPOSED',
  'RL_HEADER_ALONE',
  'RL_HEADER_IS_ADDRESS',
  'RL_HEADER_NEVER_SEEN',
  'RL_HOOKS_UNUSED',
  'RL_INVALID_VALUE',
  'RL_LARGE_LOG',
  'RL_LIVE_RULES_EVICTED',
  'RL_LIVE_RULES_LOST',
  'RL_LIVE_RULES_UNREAD',
  'RL_LIVE_RULE_REJECTED',
  'RL_MEMORY_FULL',
  'RL_NEVER_SETTLED',
  'RL_NO_CLIENT_ADDRESS',
  'RL_NO_GUARD',
  'RL_NO_RULES',
  'RL_OFF',
  'RL_PERMITS_LOST',
  'RL_PERMIT_DROPPED',
  'RL_PREFIX_SHARED',
  'RL_REDIS_ERROR',
  'RL_REDIS_UNAVAILABLE',
  'RL_REDIS_UNSET',
  'RL_RESERVATION_DROPPED',
  'RL_RULE_WITHOUT_EFFECT',
  'RL_SETTLED_IN_PART',
  'RL_SIMILAR_NAMES',
  'RL_SUBJECT_NEVER_FOUND',
  'RL_TRUST_PROXY_ALL',
  'RL_UNREACHED_METHOD',
  'RL_UNREAD_VARIABLES',
  'RL_USER_AFTER_GUARD',
  'RL_USER_NEVER_SEEN',
  'RL_USER_WITHOUT_ID',
] as const;

/** Code of a warning. docs/warnings.md describes each. */
export type WarningCode = (typeof WARNING_CODES)[number];

/**
 * Warnings to log: all (`true`), none but failures of Redis (`false`), or by code. Codes that are not in the object are
 * logged.
 */
export type WarningsOption = boolean | Readonly<Partial<Record<WarningCode, boolean | undefined>>>;

/** The check of `warnings` in the module's options. */
export const WARNINGS: OptionCheck = {
  allowed: `true, false, or an object of these codes with true or false: ${WARNING_CODES.join(', ')}`,
  accepts: (value) => typeof value === 'boolean' || hasFlags(value, WARNING_CODES),
};
