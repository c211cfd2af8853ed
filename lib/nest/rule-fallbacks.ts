import type { Fallback } from '../contracts/decision.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import type { RuleFields } from './rule-layers.js';
import type { Warnings } from './warnings.js';

const MEANWHILE: Record<Fallback, string> = {
  local: 'each process limits in its memory, by its share of the limit',
  allow: 'requests are allowed without being counted',
  deny: 'requests are denied with a 503',
};

/** What every rule's requests get while Redis cannot decide. */
export class RuleFallbacks {
  /** The rules by their fallback, the module's own aside. */
  private readonly others = new Map<Fallback, Set<string>>();
  /** Rules of permits that are held, whose fallback is `'local'` only because nothing else was stated. */
  private readonly unconfirmed = new Set<string>();

  constructor(private readonly options: Pick<RateLimitModuleOptions, 'redis' | 'onStoreError'>) {}

  /** Notes a rule with the fields that all its layers give it. */
  note(rule: RuleFields): void {
    const name = rule['name'] as string;
    const stated = (rule['onStoreError'] as Fallback | undefined) ?? this.options.onStoreError;
    if (stated === undefined && rule['algorithm'] === 'concurrency') this.unconfirmed.add(name);
    if (stated === undefined || stated === this.usual) return;
    this.others.set(stated, (this.others.get(stated) ?? new Set()).add(name));
  }

  /** What requests get meanwhile, in the words of a log line. */
  describe(): string {
    const parts = [MEANWHILE[this.usual]];
    for (const [fallback, names] of this.others) parts.push(`${MEANWHILE[fallback]} by ${rulesNamed(names)}`);
    return parts.join('; ');
  }

  /** Warns of limits that are no mutex while Redis cannot decide, unless the application has chosen that. */
  warn(warnings: Warnings): void {
    if (!this.options.redis || this.unconfirmed.size === 0) return;
    const names = rulesNamed(this.unconfirmed);
    warnings.warn(
      'RL_CONCURRENCY_FALLBACK',
      `While Redis cannot decide, each process allows its share of the permits of ${names}, at least 1, beside those that are held already: a limit of 1 is then no mutex. Write onStoreError: 'deny' for a limit that must never be exceeded, or onStoreError: 'local' to confirm this.`,
    );
  }

  private get usual(): Fallback {
    return this.options.onStoreError ?? 'local';
  }
}

function rulesNamed(names: ReadonlySet<string>): string {
  return `${names.size > 1 ? 'the rules' : 'the rule'} ${[...names].map((name) => `"${name}"`).join(', ')}`;
}
