import type { Verdict } from '../contracts/algorithm.js';
import type { Ask, Hit, Store } from '../contracts/store.js';
import { answersOf, ChargeOfAnswers, type Answer } from './charge.js';
import type { StoreFallback } from './fallback.js';
import type { Ledger } from './ledger.js';
import type { RuleHit } from './rule-hit.js';

/** Decides hits that no one server holds all of, each part by a call of its own. */
export class AcrossSlots {
  /** @param failed is told when a part was not answered */
  constructor(
    private readonly store: Store,
    private readonly fallback: StoreFallback,
    private readonly ledger: Ledger,
    private readonly failed: (error: unknown) => void,
  ) {}

  /**
   * Decides parts on servers of their own at once. When one denies, what the others have charged is given
   * back: see docs/adr/0013-across-slots.md for what another client can see meanwhile.
   */
  async decide(
    hits: readonly RuleHit[],
    parts: readonly (readonly Hit[])[],
    ask: Ask,
  ): Promise<readonly Answer[]> {
    const startedAt = performance.now();
    const results = await Promise.allSettled(parts.map(async (part) => this.store.decide(part, ask)));
    const answers = new Map<Hit, Answer>();
    parts.forEach((part, index) => {
      const result = results[index]!;
      if (result.status === 'rejected') this.failed(result.reason);
      else
        for (const answer of answersOf(part, result.value, this.store, ask)) answers.set(answer.hit, answer);
    });
    const unknown = hits.filter((hit) => !answers.has(hit));
    // What is denied already must not be charged in the store's place.
    const isRefused = hits.some((hit) => answers.get(hit)?.verdict.allowed === false && !hit.observe);
    const answered = await this.fallback.answer(unknown, isRefused ? { ...ask, dryRun: true } : ask);
    unknown.forEach((hit, index) => answers.set(hit, answered[index]!));

    let all = hits.map((hit) => answers.get(hit)!);
    if (!ask.dryRun && all.some(({ verdict, hit }) => !verdict.allowed && !hit.observe)) {
      const left = (this.store.timeout ?? Infinity) - (performance.now() - startedAt);
      all = await this.takeBack(all, Math.max(1, left));
    }
    return all;
  }

  /** Gives back what was charged, and tells the figures as they are then. */
  private async takeBack(answers: readonly Answer[], within: number): Promise<Answer[]> {
    const refunds = new ChargeOfAnswers(answers).take('refund');
    const refunded = this.ledger.amend(refunds, { within });
    // On its way behind the refund, over the same connections.
    const peeks = answers.map(async (answer): Promise<Answer> => {
      const { hit, verdict, store } = answer;
      if (!verdict.allowed || !store || !answer.isCharged) return answer;
      const figures = await figuresOf(store, hit, within);
      return { ...answer, verdict: figures ?? verdict };
    });
    await refunded;
    return Promise.all(peeks);
  }
}

/** What a hit would find now, `undefined` if the store cannot tell. */
async function figuresOf(store: Store, hit: Hit, within: number): Promise<Verdict | undefined> {
  try {
    return (await store.decide([hit], { dryRun: true, within })).verdicts[0];
  } catch {
    return undefined;
  }
}
