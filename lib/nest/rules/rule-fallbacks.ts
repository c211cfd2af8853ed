import type { Fallback } from '../../contracts/decision.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import type { RuleFields } from './rule-layers.js';
import type { Warnings } from '../warnings.js';

/** What happens to requests while Redis cannot decide, in words for a log line. */
export const MEANWHILE: Record<Fallback, string> = {
  local: 'each process limits in its memory, by its share of the limit',
  allow: 'requests are allowed without being counted',
  deny: 'requests are denied with a 503',
};

/** Maximum number of routes per rule in a log line. */
const MOST_NAMED = 3;

/** Describes what happens to the requests of each rule while Redis cannot decide. */
export class RuleFallbacks {
  /** By rule name: the routes of each fallback; `''` stands for the rule of the module's options. */
  private readonly routes = new Map<string, Map<Fallback, Set<string>>>();
  /** Names of `concurrency` rules whose fallback is `'local'` by default. */
  private readonly unconfirmed = new Set<string>();

  constructor(private readonly options: Pick<RateLimitModuleOptions, 'redis' | 'onStoreError'>) {}

  /** Adds a rule on a route, with the fields of all its layers. */
  note(rule: RuleFields, route = ''): void {
    const name = rule['name'] as string;
    const stated = (rule['onStoreError'] as Fallback | undefined) ?? this.options.onStoreError;
    if (stated === undefined && rule['algorithm'] === 'concurrency') this.unconfirmed.add(name);
    const fallback = stated ?? this.usual;
    const known = this.routes.get(name) ?? new Map<Fallback, Set<string>>();
    this.routes.set(name, known.set(fallback, (known.get(fallback) ?? new Set()).add(route)));
  }

  /** Returns what happens to requests meanwhile, in words for a log line. */
  describe(): string {
    const parts = [MEANWHILE[this.usual]];
    for (const [fallback, meanwhile] of Object.entries(MEANWHILE)) {
      const rules = fallback === this.usual ? [] : this.rulesWith(fallback as Fallback);
      if (rules.length > 0) parts.push(`${meanwhile} by ${rulesOf(rules)}`);
    }
    return parts.join('; ');
  }

  /** Returns the names of the rules with a fallback, each with its routes if the rule has another fallback elsewhere. */
  private rulesWith(fallback: Fallback): string[] {
    return [...this.routes].flatMap(([name, known]) => {
      const routes = known.get(fallback);
      if (!routes) return [];
      return known.size === 1 ? [`"${name}"`] : [`"${name}" of ${routesOf([...routes])}`];
    });
  }

  /** Warns that `concurrency` rules allow more while Redis cannot decide, unless `onStoreError` is set. */
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
