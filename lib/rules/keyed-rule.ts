import type { Subject } from './key.js';
import type { RuleHit } from './rule-hit.js';

/** A longer one is not worth remembering. */
const LONGEST_SUBJECT = 64;

/** A rule, and its trial limit if it has one, ready for any subject. */
export class KeyedRule {
  private known: Map<Subject, readonly RuleHit[]> | undefined;
  /** A rule that was made for one request does not come again. */
  private isUsed = false;

  /**
   * @param hitsOf spells the keys
   * @param recollection of how many hits are remembered; absent if each is different
   */
  constructor(
    private readonly hitsOf: (subject: Subject, cost?: number) => readonly RuleHit[],
    private readonly recollection?: Recollection,
  ) {}

  /**
   * The hits of a subject, the same ones again if it has come lately.
   *
   * @param cost how many permits each takes; the rule's own unless given
   */
  hits(subject: Subject, cost?: number): readonly RuleHit[] {
    if (cost !== undefined) return this.hitsOf(subject, cost);
    const known = this.known?.get(subject);
    if (known) return known;
    const hits = this.hitsOf(subject);
    if (this.isUsed && this.recollection) this.remember(subject, hits, this.recollection);
    this.isUsed = true;
    return hits;
  }

  /** Spells all keys anew. */
  forget(): void {
    this.known = undefined;
  }

  private remember(subject: Subject, hits: readonly RuleHit[], recollection: Recollection): void {
    if (typeof subject !== 'string' || subject.length > LONGEST_SUBJECT) return;
    recollection.add(this);
    this.known ??= new Map();
    this.known.set(subject, hits);
  }
}

/** Bounds what all rules together remember: when that is full, they begin anew. */
export class Recollection {
  private readonly rules = new Set<KeyedRule>();
  private held = 0;

  /** @param most how many subjects may be remembered, one of several rules as often; from 1 */
  constructor(private readonly most = 32_768) {}

  /** Notes that a rule will remember one more. */
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
