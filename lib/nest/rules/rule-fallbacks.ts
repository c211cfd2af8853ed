import type { Fallback } from '../../contracts/decision.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import type { RuleFields } from './rule-layers.js';
import type { Warnings } from '../warnings.js';

const MEANWHILE: Record<Fallback, string> = {
  local: 'each process limits in its memory, by its share of the limit',
  allow: 'requests are allowed without being counted',
  deny: 'requests are denied with a 503',
};

/** Routes that a log line names of each rule. */
const MOST_NAMED = 3;

/** What every rule's requests get while Redis cannot decide. */
export class RuleFallbacks {
  /** By the name of a rule: the routes of each fallback, `''` for the rule as the options have it. */
  private readonly routes = new Map<string, Map<Fallback, Set<string>>>();
  /** Rules of permits that are held, whose fallback is `'local'` only because nothing else was stated. */
  private readonly unconfirmed = new Set<string>();

  constructor(private readonly options: Pick<RateLimitModuleOptions, 'redis' | 'onStoreError'>) {}

  /** Notes a rule with the fields that all its layers give it, on a route. */
  note(rule: RuleFields, route = ''): void {
    const name = rule['name'] as string;
    const stated = (rule['onStoreError'] as Fallback | undefined) ?? this.options.onStoreError;
    if (stated === undefined && rule['algorithm'] === 'concurrency') this.unconfirmed.add(name);
    const fallback = stated ?? this.usual;
    const known = this.routes.get(name) ?? new Map<Fallback, Set<string>>();
    this.routes.set(name, known.set(fallback, (known.get(fallback) ?? new Set()).add(route)));
  }

  /** What requests get meanwhile, in the words of a log line. */
  describe(): string {
    const parts = [MEANWHILE[this.usual]];
    for (const [fallback, meanwhile] of Object.entries(MEANWHILE)) {
      const rules = fallback === this.usual ? [] : this.rulesWith(fallback as Fallback);
      if (rules.length > 0) parts.push(`${meanwhile} by ${rulesOf(rules)}`);
    }
    return parts.join('; ');
  }

  /** The names of the rules with a fallback, each with its routes if it has another one on others. */
  private rulesWith(fallback: Fallback): string[] {
    return [...this.routes].flatMap(([name, known]) => {
      const routes = known.get(fallback);
      if (!routes) return [];
      return known.size === 1 ? [`"${name}"`] : [`"${name}" of ${routesOf([...routes])}`];
    });
  }

  /** Warns of limits that are no mutex while Redis cannot decide, unless the application has chosen that. */
  warn(warnings: Warnings): void {
    if (!this.options.redis || this.unconfirmed.size === 0) return;
    const names = rulesOf(Array.from(this.unconfirmed, (name) => `"${name}"`));
    warnings.warn(
      'RL_CONCURRENCY_FALLBACK',
      `While Redis cannot decide, each process allows its share of the permits of ${names}, at least 1, beside those that are held already: a limit of 1 is then no mutex. Write onStoreError: 'deny' for a limit that must never be exceeded, or onStoreError: 'local' to confirm this.`,
    );
  }

  private get usual(): Fallback {
    return this.options.onStoreError ?? 'local';
  }
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
