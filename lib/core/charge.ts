import type { Verdict } from '../contracts/algorithm.js';
import type { Amendment, Hit, Outcome } from '../contracts/store.js';

/** What a decision has charged, until it is taken to be given back, settled or held. */
export class Charge {
  private readonly open: Set<number>;

  constructor(
    private readonly hits: readonly Hit[],
    private readonly outcome: Outcome,
  ) {
    const indexes = hits.map((_, index) => index);
    // An observed rule that denied was not charged.
    this.open = new Set(indexes.filter((index) => this.verdict(index).allowed && hits[index]!.cost > 0));
  }

  /** Takes the hits that are meant out of the charge, each once, as amendments of a kind. */
  take(kind: Amendment['kind'], isMeant: (hit: Hit, index: number) => boolean = () => true): Amendment[] {
    const taken = [...this.open].filter((index) => isMeant(this.hits[index]!, index));
    return taken.map((index) => {
      this.open.delete(index);
      const hit = this.hits[index]!;
      return { ...hit, kind, receipt: hit.lease ?? this.outcome.now + this.verdict(index).resetAfter };
    });
  }

  private verdict(index: number): Verdict {
    return this.outcome.verdicts[index]!;
  }
}
