import type { Subject } from './key.js';
import type { RuleHit } from './rule-hit.js';

/** Maximum length of a subject whose hits are cached. */
const LONGEST_SUBJECT = 64;

/** A rule that builds its hits, and those of its trial limit, for any subject. */
export class KeyedRule {
  private known: Map<Subject, readonly RuleHit[]> | undefined;
  /** Whether hits were built before: a rule created for one request caches nothing. */
  private isUsed = false;

  /**
   * @param hitsOf builds the hits
   * @param cacheLimit limits the number of cached hits; absent if hits cannot be reused
   */
  constructor(
    private readonly hitsOf: (subject: Subject, cost?: number) => readonly RuleHit[],
    private readonly cacheLimit?: HitCacheLimit,
  ) {}

  /**
   * Returns the hits of a subject, from the cache if possible.
   *
   * @param cost permits that each hit takes; the rule's own `cost` by default
   */
  hits(subject: Subject, cost?: number): readonly RuleHit[] {
    if (cost !== undefined) return this.hitsOf(subject, cost);
    const known = this.known?.get(subject);
    if (known) return known;
    const hits = this.hitsOf(subject);
    if (this.isUsed && this.cacheLimit) this.remember(subject, hits, this.cacheLimit);
    this.isUsed = true;
    return hits;
  }

  /** Clears the cache of this rule. */
  forget(): void {
    this.known = undefined;
  }

  private remember(subject: Subject, hits: readonly RuleHit[], cacheLimit: HitCacheLimit): void {
    if (typeof subject !== 'string' || subject.length > LONGEST_SUBJECT) return;
    cacheLimit.add(this);
    this.known ??= new Map();
    this.known.set(subject, hits);
  }
}

/** Limits the hits that all rules cache together: when the limit is reached, all caches are cleared. */
export class HitCacheLimit {
  private readonly rules = new Set<KeyedRule>();
  private held = 0;

  /** @param most maximum number of cached subjects, counted once per rule; from 1 */
  constructor(private readonly most = 32_768) {}

  /** Counts one more cached subject of a rule. */
  add(rule: KeyedRule): void {
    if (this.held >= this.most) {
      for (const each of this.rules) each.forget();
      this.rules.clear();
      this.held = 0;
    }
    this.rules.add(rule);
    this.held += 1;
  }
}
