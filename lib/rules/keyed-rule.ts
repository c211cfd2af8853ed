import { costOfRule, type Cost, type RuleHit } from './compiled-rule.js';
import type { Subject } from './subject.js';

/** Estimated heap of the hits of a subject, and of each hit, in bytes, besides their keys. */
const BYTES = 150;
const HIT_BYTES = 250;

/** A rule that builds its hits, and those of its trial limit, for any subject. */
export class KeyedRule {
  private known: Map<Subject, readonly RuleHit[]> | undefined;
  /** Whether hits were built before: a rule created for one request caches nothing. */
  private isUsed = false;
  private ref: WeakRef<Cache> | undefined;

  /**
   * @param hitsOf builds the hits with the costs of the rules; they keep no reference to a string of the request
   * @param cacheLimit limits the number of cached hits; absent if hits cannot be reused
   */
  constructor(
    private readonly hitsOf: (subject: Subject) => readonly RuleHit[],
    private readonly cacheLimit?: CacheLimit,
  ) {}

  /**
   * Returns the hits of a subject, from the cache if possible.
   *
   * @param cost permits that each hit takes, or the permits by rule; the rule's own `cost` by default
   */
  hits(subject: Subject, cost?: Cost): readonly RuleHit[] {
    const hits = this.known?.get(subject) ?? this.built(subject);
    return cost === undefined ? hits : atCost(hits, cost);
  }

  private built(given: Subject): readonly RuleHit[] {
    const hits = this.hitsOf(given);
    const { subject, key } = hits[0]!;
    if (this.isUsed && this.cacheLimit && typeof subject === 'string') {
      this.known ??= new Map();
      this.ref ??= new WeakRef(this.known);
      this.cacheLimit.add(this.ref, BYTES + hits.length * (HIT_BYTES + key.length));
      this.known.set(subject, hits);
    }
    this.isUsed = true;
    return hits;
  }
}

/** Returns hits that take these permits. */
function atCost(hits: readonly RuleHit[], cost: Cost): readonly RuleHit[] {
  const costOf = (hit: RuleHit): number => costOfRule(cost, hit.rule) ?? hit.cost;
  return hits.every((hit) => costOf(hit) === hit.cost)
    ? hits
    : hits.map((hit) => ({ ...hit, cost: costOf(hit) }));
}

type Cache = Pick<Map<unknown, unknown>, 'clear'>;

/** Limits what all rules cache together, hits and compiled rules: when the limit is reached, all caches are cleared. */
export class CacheLimit {
  /** Weak, since a rule that a live change has replaced is used no more. */
  private readonly caches = new Set<WeakRef<Cache>>();
  private held = 0;
  private bytes = 0;

  /**
   * @param most maximum number of cached entries; from 1
   * @param mostBytes maximum of their estimated heap
   */
  constructor(
    private readonly most = 32_768,
    private readonly mostBytes = 16 * 1024 * 1024,
  ) {}

  /** Counts one more entry of a cache. */
  add(cache: WeakRef<Cache>, bytes: number): void {
    if (this.held >= this.most || this.bytes + bytes > this.mostBytes) {
      for (const each of this.caches) each.deref()?.clear();
      this.caches.clear();
      this.held = 0;
      this.bytes = 0;
    }
    this.caches.add(cache);
    this.held += 1;
    this.bytes += bytes;
  }
}
