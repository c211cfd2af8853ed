import { Inject, Injectable } from '@nestjs/common';
import type { OnStoreError } from '../../rules/on-store-error.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { RATE_LIMIT_OPTIONS } from '../tokens.js';
import { Warnings } from '../warnings.js';

/** Reports invalid values that functions in rules return. */
@Injectable()
export class InvalidValues {
  constructor(
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
  ) {}

  /** `onStoreError` of the module, for rules without their own. */
  get onStoreError(): OnStoreError {
    return this.options.onStoreError ?? 'local';
  }

  /**
   * Reports an invalid value, once per rule and field.
   *
   * @param outcome a sentence on what happens to such a request
   */
  report(rule: string, field: string, reason: string, outcome: string): void {
    this.warnings.warn(
      'RL_INVALID_VALUE',
      `${reason}. ${outcome}; correct the function.`,
      `${rule} ${field}`,
    );
  }
}
