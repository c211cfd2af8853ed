import type { Decision, DecisionSource, RuleDecision } from '../contracts/decision.js';
import type { Ask, Hit, Outcome, Store } from '../contracts/store.js';
import { isThenable } from '../contracts/thenable.js';
import type { AcrossSlots } from './across-slots.js';
import type { Allotments } from './allotments.js';
import { ChargeOfAnswers, ChargeOfOutcome, type Answer } from './charge.js';
import type { CompiledLease } from './compiled-rule.js';
import { answeredDecision, DecidedHit, ruleDecision } from './decision.js';
import type { Asked, DenyCache } from './deny-cache.js';
import type { StoreFallback } from './fallback.js';
import type { RuleHit } from './rule-hit.js';

/** Asks the store, and the fallback where it does not answer, and makes one decision of their answers. */
export class Decider {
  /** @param failed is told when the store did not answer */
  constructor(
    private readonly store: Store,
    private readonly fallback: StoreFallback,
    private readonly acrossSlots: AcrossSlots,
    private readonly failed: (error: unknown) => void,
    private readonly denials?: DenyCache,
    private readonly allotments?: Allotments,
  ) {}

  /**
   * Decides hits all or nothing, at once if the store answers at once. Never fails because of the store.
   */
  decide(hits: readonly RuleHit[], ask: Ask): Decision | Promise<Decision> {
    const known = this.denials?.find(hits, ask);
    if (known) return known;
    const parts = hits.length > 1 ? this.store.partition?.(hits) : undefined;
    if (parts && parts.length > 1) return this.decideApart(hits, parts, ask);
    const { lease } = hits[0]!.rule;
    if (!lease || hits.length > 1 || ask.dryRun || ask.patience) return this.decideTogether(hits, ask);
    return this.decideAhead(lease, hits, ask);
  }

  private decideTogether(hits: readonly RuleHit[], ask: Ask): Decision | Promise<Decision> {
    const asked = this.denials?.begin();
    try {
      const outcome = this.store.decide(hits, ask);
      return isThenable(outcome)
        ? this.decideLater(hits, ask, Promise.resolve(outcome), asked)
        : this.told(hits, ask, outcome, asked);
    } catch (error) {
      return this.fallBack(hits, ask, error);
    }
  }

  private decideLater(
    hits: readonly RuleHit[],
    ask: Ask,
    outcome: Promise<Outcome>,
    asked: Asked | undefined,
  ): Promise<Decision> {
    return outcome.then(
      (told) => this.told(hits, ask, told, asked),
      (error: unknown) => this.fallBack(hits, ask, error),
    );
  }

  /** Decides a hit by permits that were taken ahead, or takes some, or asks as if there were no lease. */
  private decideAhead(
    lease: CompiledLease,
    hits: readonly RuleHit[],
    ask: Ask,
  ): Decision | Promise<Decision> {
    const hit = hits[0]!;
    const answer = this.allotments?.spend(hit);
    if (answer) return this.answered(hits, answer, 'cache');
    const startedAt = performance.now();
    const taking = this.allotments?.take(lease, hit);
    if (!taking) return this.decideTogether(hits, ask);
    return taking.then(
      (taken) => {
        if (taken) return this.answered(hits, taken, this.store.source);
        return this.decideTogether(hits, this.inTheRest(ask, startedAt));
      },
      (error: unknown) => this.fallBack(hits, ask, error),
    );
  }

  /** A second question must not wait for as long again. */
  private inTheRest(ask: Ask, startedAt: number): Ask {
    const { timeout = Infinity } = this.store;
    const elapsed = performance.now() - startedAt;
    return elapsed < timeout / 20 ? ask : { ...ask, within: Math.max(1, timeout - elapsed) };
  }

  private answered(hits: readonly RuleHit[], answer: Answer, source: DecisionSource): DecidedHit {
    const { rule } = hits[0]!;
    return new DecidedHit([ruleDecision(rule, answer.verdict)], source, new ChargeOfAnswers([answer]));
  }

  private async fallBack(hits: readonly RuleHit[], ask: Ask, error: unknown): Promise<Decision> {
    this.failed(error);
    return this.decisionOf(hits, await this.fallback.answer(hits, ask), ask);
  }

  private told(hits: readonly RuleHit[], ask: Ask, outcome: Outcome, asked: Asked | undefined): DecidedHit {
    const { store } = this;
    const { verdicts } = outcome;
    const decisions = new Array<RuleDecision>(hits.length);
    let isDenied = false;
    for (let index = 0; index < hits.length; index += 1) {
      const { rule, observe } = hits[index]!;
      const verdict = verdicts[index]!;
      if (!verdict.allowed && !observe) isDenied = true;
      decisions[index] = ruleDecision(rule, verdict);
    }
    if (asked && isDenied) this.denials!.keep(hits, ask, outcome, asked);
    const isCharged = !ask.dryRun && !isDenied;
    return new DecidedHit(
      decisions,
      store.source,
      isCharged ? new ChargeOfOutcome(hits, outcome, store) : undefined,
    );
  }

  private async decideApart(
    hits: readonly RuleHit[],
    parts: readonly (readonly Hit[])[],
    ask: Ask,
  ): Promise<Decision> {
    return this.decisionOf(hits, await this.acrossSlots.decide(hits, parts, ask), ask);
  }

  private decisionOf(hits: readonly RuleHit[], answers: readonly Answer[], ask: Ask): DecidedHit {
    const { source } = this.store;
    const decisions = hits.map(({ rule }, index) => answeredDecision(rule, answers[index]!));
    return new DecidedHit(decisions, source, ask.dryRun ? undefined : new ChargeOfAnswers(answers));
  }
}
