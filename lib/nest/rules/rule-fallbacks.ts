import type { Fallback } from '../../contracts/decision.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import type { TableRule } from './rule-table.js';
import type { Warnings } from '../warnings.js';

/** What happens to requests while Redis cannot decide, in words for a log line. */
export const MEANWHILE: Record<Fallback, string> = {
  local: 'each process limits in its memory, by its share of the limit',
  allow: 'requests are allowed without being counted',
  deny: 'requests are denied with a 503',
};

/** Maximum number of routes per rule in a log line. */
const MOST_NAMED = 3;

/** Describes what happens to the requests of each rule while Redis cannot decide, in words for a log line. */
export function describeFallbacks(
  rules: readonly TableRule[],
  { onStoreError: usual = 'local' }: Pick<RateLimitModuleOptions, 'onStoreError'>,
): string {
  const parts = [MEANWHILE[usual]];
  for (const [fallback, meanwhile] of Object.entries(MEANWHILE)) {
    const named = fallback === usual ? [] : rulesWith(fallback as Fallback, usual, rules);
    if (named.length > 0) parts.push(`${meanwhile} by ${rulesOf(named)}`);
  }
  return parts.join('; ');
}

/** Warns that `concurrency` rules without `onStoreError` allow more while Redis cannot decide. */
export function warnOfFallbacks(rules: readonly TableRule[], warnings: Warnings): void {
  const unconfirmed = rules.filter(({ declared: { fields, isHeld } }) => isHeld && !fields.onStoreError);
  if (unconfirmed.length === 0) return;
  const names = rulesOf([...new Set(unconfirmed.map(({ name }) => `"${name}"`))]);
  warnings.warn(
    'RL_CONCURRENCY_FALLBACK',
    `While Redis cannot decide, each process allows its share of the permits of ${names}, at least 1, besides those already held: a limit of 1 is then not a mutex. Write onStoreError: 'deny' for a limit that must never be exceeded, or onStoreError: 'local' to confirm this.`,
  );
}

/** Returns the names of the rules with a fallback, each with its routes if the rule has another fallback elsewhere. */
function rulesWith(fallback: Fallback, usual: Fallback, rules: readonly TableRule[]): string[] {
  const isMeant = ({ current }: TableRule): boolean => (current.fields.onStoreError ?? usual) === fallback;
  const names = [...new Set(rules.filter(isMeant).map(({ name }) => name))];
  return names.map((name) => {
    const named = rules.filter((rule) => rule.name === name);
    if (named.every(isMeant)) return `"${name}"`;
    return `"${name}" of ${routesOf(named.filter(isMeant).map(({ owner = '' }) => owner))}`;
  });
}

function rulesOf(rules: readonly string[]): string {
  return `${rules.length > 1 ? 'the rules' : 'the rule'} ${rules.join(', ')}`;
}

function routesOf(routes: readonly string[]): string {
  if (routes.includes('')) return 'other routes';
  const named = routes.slice(0, MOST_NAMED).join(', ');
  const others = routes.length - MOST_NAMED;
  return others > 0 ? `${named} and ${others} other ${others === 1 ? 'route' : 'routes'}` : named;
}
