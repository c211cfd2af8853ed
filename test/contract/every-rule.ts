import type { ExampleQuota } from '../../lib/algorithms/definition.js';
import type { Rule } from '../../lib/index.js';
import { rulesAtOnce } from '../support/examples.js';

const FIVE_PER_TEN_SECONDS = { limit: 5, windowMs: 10_000 };

/** Five per ten seconds, with every algorithm and every option that allows a new subject five permits at once. */
export const EVERY_OPTION: readonly Rule[] = rulesAtOnce(FIVE_PER_TEN_SECONDS);

/** Those whose limit is five and whose window is ten seconds. */
export const EVERY_RULE: readonly Rule[] = everyRule(FIVE_PER_TEN_SECONDS);

/** A limit with every algorithm, and with every option that keeps the limit and the window. */
export function everyRule(quota: ExampleQuota): Rule[] {
  const isKept = ({ limit, window }: Rule) => limit === quota.limit && window === `${quota.windowMs}ms`;
  return rulesAtOnce(quota).filter(isKept);
}
