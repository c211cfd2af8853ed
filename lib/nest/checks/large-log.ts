import { FOR_LARGE_LIMITS } from '../../rules/rule-fields.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import { DEFAULT_ALGORITHM } from '../../rules/rule.js';
import type { RuleFields } from '../rules/rule-layers.js';
import type { Warnings } from '../warnings.js';

/** The largest limit of a rule without `algorithm` that causes no warning. */
const LARGEST_SILENT_LIMIT = 1000;

/** Memory of a log entry in Redis: 16.6 bytes were measured with 1,000 entries, less with more. */
const BYTES_PER_ENTRY = 17;

/**
 * Warns of a rule without `algorithm` whose limit needs a large log. The limit may come from a function.
 *
 * @param owner the name of the rule's target in messages, such as `OrdersController.list`
 */
export function warnOfLargeLog(
  warnings: Warnings,
  fields: RuleFields,
  { name, capacity, trial }: CompiledRule,
  owner: string,
): void {
  const limit = Math.max(capacity, trial?.capacity ?? 0);
  if (fields['algorithm'] !== undefined || limit <= LARGEST_SILENT_LIMIT) return;
  if (!warnings.isPending('RL_LARGE_LOG')) return;
  warnings.warn(
    'RL_LARGE_LOG',
    `Rule "${name}" of ${owner} has a limit of ${limit} and no algorithm: ${DEFAULT_ALGORITHM} stores an entry for each permit, up to ${limit * BYTES_PER_ENTRY} bytes for each subject. Set its algorithm to ${FOR_LARGE_LIMITS}, or to "${DEFAULT_ALGORITHM}" to confirm it.`,
  );
}
