import { parseDuration } from '../../contracts/duration.js';
import { checkRate } from '../burst.js';
import type { VariantTerms } from '../definition.js';
import type { TokenBucketOptions } from './token-bucket-options.js';

export type WarmUpParameter = 'limit' | 'window' | 'warmUp';

/** The option checks and the parameters of a rule with `warmUp`. */
export const warmUpTerms: VariantTerms<TokenBucketOptions, WarmUpParameter> = {
  parameters: ['limit', 'window', 'warmUp'],
  check(rule) {
    const field = (['burst', 'refill', 'initial'] as const).find((name) => rule[name] !== undefined);
    if (field !== undefined) {
      return `${field} is ${JSON.stringify(rule[field])}; allowed: none with warmUp, which stores time instead of tokens`;
    }
    const { limit, window } = rule;
    if (limit > window) {
      return `limit is ${limit}; allowed with warmUp: at most one a microsecond of the window, ${window}`;
    }
    return checkRate({ limit, window });
  },
  compile: ({ limit, window, warmUp }) => ({ limit, window, warmUp: parseDuration(warmUp)! }),
};
