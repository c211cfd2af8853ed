import type { Verdict } from '../contracts/algorithm.js';
import type { Ask, Counter, Store } from '../contracts/store.js';
import { answersOf, type Answer } from './charge.js';
import type { RuleHit } from './rule-hit.js';

/** When to ask again where only the store knows. */
export const RETRY_AFTER = 1e6;

/**
 * Decides in the memory of this process while the store that all processes share cannot. Each rule has the
 * share of one process: all together allow at most max(limit, processes) permits. See docs/adr/0039-local-shares.md.
 */
export class LocalShare {
  private opened: Store | undefined;

  /**
   * @param open creates the store, when it is first needed
   * @param instances how many processes share the limits, from 1
   */
  constructor(
    private readonly open: () => Store,
    private readonly instances: () => number,
  ) {}

  async decide(hits: readonly RuleHit[], ask: Ask): Promise<Answer[]> {
    const { store } = this;
    const shares = hits.map((hit) => this.shareOf(hit));
    const answers = answersOf(shares, await store.decide(shares, ask), store, ask);
    return answers.map((answer, index) => localAnswer(answer, hits[index]!, shares[index]!));
  }

  /** Blocks the subject of a counter in this process. */
  async block(counter: Counter, duration: number): Promise<void> {
    await this.store.block(counter, duration);
  }

  /** Deletes what this process has counted. */
  async reset(counters: readonly Counter[]): Promise<void> {
    await this.opened?.reset(counters);
  }

  private get store(): Store {
    return (this.opened ??= this.open());
  }

  private shareOf(hit: RuleHit): RuleHit {
    const { rule } = hit;
    const amounts = rule.among(rule.perInstance ? 1 : this.instances());
    const parameters = amounts.parametersAt?.(this.store.clock()) ?? amounts.parameters;
    return { ...hit, rule: { ...rule, ...amounts }, parameters };
  }
}

/**
 * What the share says of a hit. One that fits the limit, but never the share, is the store's to allow: the
 * client is not to blame, and may ask again soon.
 */
function localAnswer(answer: Answer, hit: RuleHit, { rule: share }: RuleHit): Answer {
  const { verdict } = answer;
  const isTooLarge = !verdict.allowed && hit.cost > share.capacity && hit.cost <= hit.rule.capacity;
  if (!isTooLarge) return { ...answer, fallback: 'local', share };
  const denied: Verdict = { ...verdict, retryAfter: Math.max(RETRY_AFTER, verdict.retryAfter ?? 0) };
  return { ...answer, verdict: denied, fallback: 'deny', share };
}
