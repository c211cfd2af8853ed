import type { RuleDecision } from '../contracts/decision.js';
import type { Hit, Outcome } from '../contracts/store.js';
import { DecidedHit, ruleDecision } from './decision.js';
import type { RuleHit } from './rule-hit.js';

/** A request that was denied, and for how long it is. */
export class Denial {
  /** What was told twice, while it is right: most keys are asked for less often, and need not hold one. */
  private decision: DecidedHit | undefined;
  /** When one of the decision's figures will be another, in microseconds after `since`. */
  private changesAfter = 0;

  /**
   * @param since when it was asked, in microseconds of the process's clock: no later than the store decided
   * @param until until when it is known to be denied
   */
  constructor(
    private readonly hits: readonly RuleHit[],
    private readonly outcome: Outcome,
    private readonly since: number,
    private readonly until: number,
  ) {}

  /** Whether a request asks the same. */
  isOf(hits: readonly RuleHit[]): boolean {
    return hits === this.hits || (hits.length === this.hits.length && hits.every(isSame, this.hits));
  }

  /** What the request would be told at an instant, `undefined` if that is not known any more. */
  at(now: number): DecidedHit | undefined {
    const elapsed = now - this.since;
    if (now >= this.until || elapsed < 0) return undefined;
    if (elapsed < this.changesAfter) return (this.decision ??= this.decide(elapsed));
    this.decision = undefined;
    return this.decide(elapsed);
  }

  private decide(elapsed: number): DecidedHit {
    const { verdicts } = this.outcome;
    const decisions = new Array<RuleDecision>(verdicts.length);
    this.changesAfter = Infinity;
    for (let index = 0; index < verdicts.length; index += 1) {
      const { retryAfter, resetAfter } = verdicts[index]!;
      decisions[index] = ruleDecision(this.hits[index]!.rule, verdicts[index]!, elapsed);
      this.changesAfter = Math.min(
        this.changesAfter,
        nextMillisecond(retryAfter ?? 0, elapsed),
        nextMillisecond(resetAfter, elapsed),
      );
    }
    return new DecidedHit(decisions, 'cache');
  }
}

/** When a wait that began with so many microseconds will be a millisecond less, rounded up. */
function nextMillisecond(wait: number, elapsed: number): number {
  const left = wait - elapsed;
  return left > 0 ? wait - (Math.ceil(left / 1000) - 1) * 1000 : Infinity;
}

function isSame(this: readonly Hit[], hit: Hit, index: number): boolean {
  const { key, cost, parameters } = this[index]!;
  return hit.key === key && hit.cost === cost && hit.parameters === parameters;
}
