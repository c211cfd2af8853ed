import type { OptionCheck } from '../contracts/options.js';

/** The option of algorithms whose waiting requests can go into debt. */
export interface Overdrawable {
  /**
   * Whether a request that waits, such as one of `acquire()`, may cost more than the burst. It waits until all permits are
   * available, and takes the missing ones as debt, which later requests wait for; the rate stays that of the rule. Requests
   * that do not wait are denied.
   *
   * @default false
   */
  readonly overdraft?: boolean;
}

/** The check of the option `overdraft`. */
export const overdraftOption: OptionCheck = {
  allowed: 'true or false',
  accepts: (value) => typeof value === 'boolean',
};
