import type { Decision, DecisionSource, RuleDecision } from '../contracts/decision.js';
import type { Ask, Hit, Outcome, Store } from '../contracts/store.js';
import type { AcrossSlots } from './across-slots.js';
import type { Allotments } from './allotments.js';
import { answersOf, Charge, type Answer } from './charge.js';
import { answeredDecision, DecidedHit, ruleDecision } from './decision.js';
import type { DenyCache } from './deny-cache.js';
import type { FailurePolicy } from './failure-policy.js';
import type { RuledHit } from './local-share.js';
import type { Keys, RuleHit } from './rule-hit.js';
import type { CompiledLease } from './rule.js';

/** Asks the store, and the policy where it does not answer, and makes one decision of their answers. */
export class Decider {
  /** @param failed is told when the store did not answer */
  constructor(
    private readonly store: Store,
    private readonly keys: Keys,
    private readonly policy: FailurePolicy,
    private readonly acrossSlots: AcrossSlots,
    private readonly failed: (error: unknown) => void,
    private readonly denials?: DenyCache,
    private readonly allotments?: Allotments,
  ) {}

  /**
   * Decides hits all or nothing, at once if the store answers at once. Never fails because of the store.
   */
  decide(ruleHits: readonly RuleHit[], ask: Ask): Decision | Promise<Decision> {
    const hits: Hit[] = [];
    for (const hit of ruleHits) hits.push(this.keys.hit(hit));
    const known = this.denials?.find(ruleHits, hits, ask);
    if (known) return known;
    const parts = hits.length > 1 ? this.store.partition?.(hits) : undefined;
    if (parts && parts.length > 1) return this.decideApart(ruleHits, hits, parts, ask);
    const { lease } = ruleHits[0]!.rule;
    if (!lease || hits.length > 1 || ask.dryRun || ask.patience)
      return this.decideTogether(ruleHits, hits, ask);
    return this.decideAhead(lease, ruleHits, hits, ask);
  }

  private decideTogether(
    ruleHits: readonly RuleHit[],
    hits: readonly Hit[],
    ask: Ask,
  ): Decision | Promise<Decision> {
    const asked = this.denials?.begin();
    const tell = (outcome: Outcome): Decision => {
      if (asked && isDenied(hits, outcome)) this.denials!.keep(hits, ask, outcome, asked);
      return this.told(ruleHits, hits, ask, outcome);
    };
    try {
      const outcome = this.store.decide(hits, ask);
      if (!(outcome instanceof Promise)) return tell(outcome);
      return outcome.then(tell, (error: unknown) => this.fallBack(ruleHits, hits, ask, error));
    } catch (error) {
      return this.fallBack(ruleHits, hits, ask, error);
    }
  }

  /** Decides a hit by permits that were taken ahead, or takes some, or asks as if there were no lease. */
  private decideAhead(
    lease: CompiledLease,
    ruleHits: readonly RuleHit[],
    hits: readonly Hit[],
    ask: Ask,
  ): Decision | Promise<Decision> {
    const hit = hits[0]!;
    const answer = this.allotments?.spend(hit);
    if (answer) return this.answered(ruleHits, answer, 'cache');
    const startedAt = performance.now();
    const taking = this.allotments?.take(lease, hit);
    if (!taking) return this.decideTogether(ruleHits, hits, ask);
    return taking.then(
      (taken) => {
        if (taken) return this.answered(ruleHits, taken, this.store.source);
        return this.decideTogether(ruleHits, hits, this.inTheRest(ask, startedAt));
      },
      (error: unknown) => this.fallBack(ruleHits, hits, ask, error),
    );
  }

  /** A second question must not wait for as long again. */
  private inTheRest(ask: Ask, startedAt: number): Ask {
    const { timeout = Infinity } = this.store;
    const elapsed = performance.now() - startedAt;
    return elapsed < timeout / 20 ? ask : { ...ask, within: Math.max(1, timeout - elapsed) };
  }

  private answered(ruleHits: readonly RuleHit[], answer: Answer, source: DecisionSource): DecidedHit {
    const { rule } = ruleHits[0]!;
    return new DecidedHit([ruleDecision(rule, answer.verdict)], source, () => new Charge([answer]));
  }

  private async fallBack(
    ruleHits: readonly RuleHit[],
    hits: readonly Hit[],
    ask: Ask,
    error: unknown,
  ): Promise<Decision> {
    this.failed(error);
    return this.decisionOf(ruleHits, await this.policy.answer(ruled(ruleHits, hits), ask), ask);
  }

  private told(ruleHits: readonly RuleHit[], hits: readonly Hit[], ask: Ask, outcome: Outcome): DecidedHit {
    const { store } = this;
    const decisions: RuleDecision[] = [];
    for (let index = 0; index < hits.length; index += 1) {
      decisions.push(ruleDecision(ruleHits[index]!.rule, outcome.verdicts[index]!));
    }
    const charge = ask.dryRun ? undefined : () => new Charge(answersOf(hits, outcome, store, ask));
    return new DecidedHit(decisions, store.source, charge);
  }

  private async decideApart(
    ruleHits: readonly RuleHit[],
    hits: readonly Hit[],
    parts: readonly (readonly Hit[])[],
    ask: Ask,
  ): Promise<Decision> {
    return this.decisionOf(ruleHits, await this.acrossSlots.decide(ruled(ruleHits, hits), parts, ask), ask);
  }

  private decisionOf(ruleHits: readonly RuleHit[], answers: readonly Answer[], ask: Ask): DecidedHit {
    const { source } = this.store;
    const decisions = ruleHits.map(({ rule }, index) => answeredDecision(rule, answers[index]!));
    return new DecidedHit(decisions, source, ask.dryRun ? undefined : () => new Charge(answers));
  }
}

function isDenied(hits: readonly Hit[], { verdicts }: Outcome): boolean {
  return verdicts.some(({ allowed }, index) => !allowed && !hits[index]!.observe);
}

function ruled(ruleHits: readonly RuleHit[], hits: readonly Hit[]): RuledHit[] {
  return ruleHits.map(({ rule }, index) => ({ rule, hit: hits[index]! }));
}
