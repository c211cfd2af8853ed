import { Inject, Injectable } from '@nestjs/common';
import type { OnStoreError } from '../core/on-store-error.js';
import { InvalidValueError } from './invalid-value.error.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from './tokens.js';
import { Warnings } from './warnings.js';

/** A rule of a route, as far as it matters here. */
interface Ruled {
  readonly name: string;
  readonly mode?: unknown;
  readonly onStoreError?: OnStoreError;
}

/** Reports values of functions in rules that a rule cannot have, and decides requests that got one. */
@Injectable()
export class InvalidValues {
  constructor(
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
  ) {}

  /** Reports an invalid value, once for each rule. */
  report(rule: string, reason: string, outcome: string): void {
    this.warnings.warn('RL_INVALID_VALUE', `${reason}. ${outcome}`, rule);
  }

  /**
   * Reports an invalid value and decides its request as `onStoreError` says: by a 503, or without the rule.
   *
   * @throws any other error
   */
  decide(
    { name, mode, onStoreError = this.options.onStoreError }: Ruled,
    error: unknown,
  ): 'skip' | 'unavailable' {
    if (!(error instanceof InvalidValueError)) throw error;
    const isDenied = onStoreError === 'deny' && mode !== 'observe';
    const outcome = isDenied ? 'such a request gets a 503' : 'such a request is allowed without this rule';
    this.report(
      name,
      error.problems.join('; '),
      `As \`onStoreError\` says, ${outcome}; correct the function.`,
    );
    return isDenied ? 'unavailable' : 'skip';
  }
}
