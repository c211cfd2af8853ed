import { Inject, Injectable, Logger } from '@nestjs/common';
import { escaped } from '../contracts/shown.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from './tokens.js';
import type { WarningCode } from './warning-codes.js';

/** Failures of Redis, which are not of the setup: only their own code turns them off. */
const FAILURES: readonly WarningCode[] = ['RL_REDIS_ERROR', 'RL_REDIS_UNAVAILABLE'];

/** Lists the warnings that were logged and still apply: a limit is probably not enforced as intended. */
@Injectable()
export class Warnings {
  private readonly logger = new Logger('RateLimit');
  /** The messages of the logged warnings by their code and their object, the latest last. */
  private readonly logged = new Map<string, string>();

  /** @internal */
  constructor(@Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions) {}

  /** Messages of the warnings that were logged, by code: of several with one code the latest. */
  get active(): ReadonlyMap<WarningCode, string> {
    return new Map(this.all);
  }

  /**
   * Messages of the warnings that were logged, one for each object, with their codes.
   *
   * @internal
   */
  get all(): readonly (readonly [code: WarningCode, message: string])[] {
    return Array.from(this.logged, ([entry, text]) => [entry.split(' ')[0] as WarningCode, text] as const);
  }

  /**
   * Whether a warning with this code would still be logged: it is not turned off and was not logged yet.
   *
   * @internal
   */
  isPending(code: WarningCode, about = ''): boolean {
    return !this.logged.has(`${code} ${about}`) && !this.isOff(code);
  }

  /**
   * Logs a warning, unless one with this code was logged before or the code is turned off.
   *
   * @internal
   * @param message full sentences: what is wrong, and the fix
   * @param about the object of the warning, such as a rule, if the code is logged once for each object
   * @param level `'error'` for what an operator has to fix
   */
  warn(code: WarningCode, message: string, about = '', level: 'warn' | 'error' = 'warn'): void {
    const entry = `${code} ${about}`;
    if (this.logged.has(entry) || this.isOff(code)) return;
    const text = escaped(message);
    this.logged.set(entry, text);
    this.logger[level](`${text} (${code}, see docs/warnings.md)`);
  }

  /**
   * Removes a warning whose reason has passed: it is logged again if the reason returns. Returns whether it was logged.
   *
   * @internal
   */
  withdraw(code: WarningCode, about = ''): boolean {
    return this.logged.delete(`${code} ${about}`);
  }

  /**
   * Logs that a function of the application returned an invalid value, or failed.
   *
   * @internal
   * @param about the function: it is logged once for each
   * @param outcome a sentence on what happens to such a request
   */
  warnOfInvalid(about: string, reason: string, outcome: string): void {
    this.warn('RL_INVALID_VALUE', `${reason}. ${outcome}; correct the function.`, about);
  }

  private isOff(code: WarningCode): boolean {
    // Invalid options stop the application later, with their own message.
    const { warnings } = (this.options as Partial<RateLimitModuleOptions> | null) ?? {};
    if (typeof warnings === 'object') return warnings?.[code] === false;
    return warnings === false && !FAILURES.includes(code);
  }
}
