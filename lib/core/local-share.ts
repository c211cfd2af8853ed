import type { Ask, Store } from '../contracts/store.js';
import { answersOf, type Answer } from './charge.js';
import type { RuleHit } from './rule-hit.js';

/**
 * Counts in this process what the store that all share cannot: n processes that each charge a hit n times
 * let as much through together as the limit says, whatever the algorithm. One hit at a time always fits.
 */
export class LocalShare {
  /** @param instances how many processes share the limit, from 1 */
  constructor(
    private readonly store: Store,
    private readonly instances: () => number,
  ) {}

  async decide(hits: readonly RuleHit[], ask: Ask): Promise<Answer[]> {
    const shares = hits.map((hit) => this.shareOf(hit));
    const scaled = hits.map((hit, index) => ({ ...hit, cost: hit.cost * shares[index]! }));
    const answers = answersOf(scaled, await this.store.decide(scaled, ask), this.store, ask);
    return answers.map((answer, index) => {
      const share = shares[index]!;
      const { verdict } = answer;
      return { ...answer, verdict: { ...verdict, remaining: Math.floor(verdict.remaining / share) }, share };
    });
  }

  private shareOf({ rule, cost }: RuleHit): number {
    const { capacity, perInstance } = rule;
    if (perInstance) return 1;
    const most = cost > 0 && cost <= capacity ? capacity / cost : Infinity;
    return Math.max(1, Math.min(this.instances(), Math.floor(most)));
  }
}
