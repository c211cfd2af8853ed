import { Inject, Injectable, Logger } from '@nestjs/common';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from './tokens.js';

/** Every code of a warning. docs/warnings.md has a section for each. */
export const WARNING_CODES = [
  'RL_API_KEY_ALONE',
  'RL_CALLERS_TOGETHER',
  'RL_CONCURRENCY_FALLBACK',
  'RL_FORWARDED_UNTRUSTED',
  'RL_HEADER_ALONE',
  'RL_HEADER_NEVER_SEEN',
  'RL_INVALID_VALUE',
  'RL_LARGE_LOG',
  'RL_NO_CLIENT_ADDRESS',
  'RL_TRUST_PROXY_ALL',
  'RL_UNREACHED_METHOD',
  'RL_USER_AFTER_GUARD',
] as const;

export type WarningCode = (typeof WARNING_CODES)[number];

/** Which warnings are logged: all or none, or by code. A code that is left out is logged. */
export type WarningsOption = boolean | Readonly<Partial<Record<WarningCode, boolean | undefined>>>;

/** What `warnings` may be in the module's options, in the words of a message. */
export const WARNINGS_ALLOWED = `true, false, or an object of these codes with true or false: ${WARNING_CODES.join(', ')}`;

/** Logs what is probably a mistake in the application's setup: one line for each code, or for each rule. */
@Injectable()
export class Warnings {
  private readonly logger = new Logger('RateLimit');
  private readonly warned = new Map<WarningCode, string>();
  /** What was logged, by code and subject. */
  private readonly logged = new Set<string>();
  private readonly option: unknown;

  constructor(@Inject(RATE_LIMIT_OPTIONS) options: RateLimitModuleOptions) {
    // Wrong options stop the application later, with a message of their own.
    this.option = (options as RateLimitModuleOptions | null | undefined)?.warnings;
  }

  /** The warnings of this application that were logged: the message by its code. */
  get active(): ReadonlyMap<WarningCode, string> {
    return this.warned;
  }

  /** Whether a warning with this code would still be logged: it is not turned off and was not logged yet. */
  isPending(code: WarningCode, about = ''): boolean {
    return !this.logged.has(`${code} ${about}`) && !this.isOff(code);
  }

  /**
   * Logs a warning, unless one with this code was logged before or the code is turned off.
   *
   * @param message a full sentence: what is wrong, and the fix
   * @param about what the warning is about, such as a rule, if each is logged once
   */
  warn(code: WarningCode, message: string, about = ''): void {
    const entry = `${code} ${about}`;
    if (this.logged.has(entry) || this.isOff(code)) return;
    this.logged.add(entry);
    this.warned.set(code, message);
    this.logger.warn(`${message} (${code}, see docs/warnings.md)`);
  }

  private isOff(code: WarningCode): boolean {
    if (typeof this.option !== 'object' || this.option === null) return this.option === false;
    return (this.option as Partial<Record<WarningCode, boolean>>)[code] === false;
  }
}

/** Whether a value is a valid `warnings` option. */
export function isWarningsOption(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([code, isOn]) =>
      WARNING_CODES.includes(code as WarningCode) && (isOn === undefined || typeof isOn === 'boolean'),
  );
}
