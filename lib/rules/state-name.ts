import type { Quota } from '../algorithms/definition.js';
import type { AnyDefinition } from './rule-fields.js';

/**
 * Returns what gives the states of a rule their meaning: the algorithm in its variant, the version of its format, the
 * window in milliseconds or as a calendar word, and further parts of the algorithm: `gcra2/60000`. A rule in which one of
 * them differs has other counters.
 */
export function stateNameOf(
  rule: Quota,
  { name, version, leases, keyParts }: Pick<AnyDefinition, 'name' | 'version' | 'leases' | 'keyParts'>,
): string {
  const window = leases ? [] : [rule.calendar ?? rule.window / 1000];
  return [`${name}${version}`, ...window, ...(keyParts?.(rule) ?? [])].join('/');
}
