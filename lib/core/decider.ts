import type { Verdict } from '../contracts/algorithm.js';
import type { Decision, DecisionSource, RuleDecision } from '../contracts/decision.js';
import type { Ask, Hit, Outcome, Store } from '../contracts/store.js';
import type { Allotments } from './allotments.js';
import { answersOf, Charge, type Answer } from './charge.js';
import { answeredDecision, DecidedHit, ruleDecision } from './decision.js';
import type { DenyCache } from './deny-cache.js';
import type { FailurePolicy } from './failure-policy.js';
import type { Ledger } from './ledger.js';
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
    private readonly ledger: Ledger,
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

  /**
   * Decides parts on servers of their own at once. When one denies, what the others have charged is given
   * back: see docs/adr/0013-across-slots.md for what another client can see meanwhile.
   */
  private async decideApart(
    ruleHits: readonly RuleHit[],
    hits: readonly Hit[],
    parts: readonly (readonly Hit[])[],
    ask: Ask,
  ): Promise<Decision> {
    const startedAt = performance.now();
    const results = await Promise.allSettled(parts.map(async (part) => this.store.decide(part, ask)));
    const answers = new Map<Hit, Answer>();
    parts.forEach((part, index) => {
      const result = results[index]!;
      if (result.status === 'rejected') this.failed(result.reason);
      else
        for (const answer of answersOf(part, result.value, this.store, ask)) answers.set(answer.hit, answer);
    });
    const unknown = ruled(ruleHits, hits).filter(({ hit }) => !answers.has(hit));
    // What is denied already must not be charged in the store's place.
    const isRefused = hits.some((hit) => answers.get(hit)?.verdict.allowed === false && !hit.observe);
    const answered = await this.policy.answer(unknown, isRefused ? { ...ask, dryRun: true } : ask);
    unknown.forEach(({ hit }, index) => answers.set(hit, answered[index]!));

    let all = hits.map((hit) => answers.get(hit)!);
    if (!ask.dryRun && all.some(({ verdict, hit }) => !verdict.allowed && !hit.observe)) {
      const left = (this.store.timeout ?? Infinity) - (performance.now() - startedAt);
      all = await this.takeBack(all, Math.max(1, left));
    }
    return this.decisionOf(ruleHits, all, ask);
  }

  /** Gives back what was charged, and tells the figures as they are then. */
  private async takeBack(answers: readonly Answer[], within: number): Promise<Answer[]> {
    const refunds = new Charge(answers).take('refund');
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

  private decisionOf(ruleHits: readonly RuleHit[], answers: readonly Answer[], ask: Ask): DecidedHit {
    const { source } = this.store;
    const decisions = ruleHits.map(({ rule }, index) => answeredDecision(rule, answers[index]!));
    return new DecidedHit(decisions, source, ask.dryRun ? undefined : () => new Charge(answers));
  }
}

function isDenied(hits: readonly Hit[], { verdicts }: Outcome): boolean {
  return verdicts.some(({ allowed }, index) => !allowed && !hits[index]!.observe);
}

/** What a hit would find now, `undefined` if the store cannot tell. */
async function figuresOf(store: Store, hit: Hit, within: number): Promise<Verdict | undefined> {
  try {
    return (await store.decide([hit], { dryRun: true, within })).verdicts[0];
  } catch {
    return undefined;
  }
}

function ruled(ruleHits: readonly RuleHit[], hits: readonly Hit[]): RuledHit[] {
  return ruleHits.map(({ rule }, index) => ({ rule, hit: hits[index]! }));
}
