import { UNCOUNTED_RETRY_MS } from '../../contracts/decision.js';
import type { Adjustment, Counter, DecideOptions, HitResult, LocalLimit } from '../../contracts/store.js';
import type { BaseStore } from '../../contracts/base-store.js';
import { parametersOfSubject } from '../../rules/keys.js';
import { levelsOf, type RuleHit } from '../../rules/compiled-rule.js';

/** The `retryAfter` of a request that only the store can allow, in microseconds. */
export const RETRY_AFTER = UNCOUNTED_RETRY_MS * 1000;

/**
 * Decides in the memory of this process while the shared store cannot. Each process has a part of each limit: together
 * they allow at most max(limit, number of processes) permits. See docs/adr/0039-local-shares.md.
 */
export class LocalLimits {
  /**
   * @param instances how many processes share the limits, from 1
   */
  constructor(
    private readonly store: BaseStore,
    private readonly instances: () => number,
  ) {}

  async decide(hits: readonly RuleHit[], options: DecideOptions): Promise<HitResult[]> {
    if (hits.length === 0) return [];
    const limits = hits.map((hit) => this.limitOf(hit));
    const local = hits.map((hit, index) => {
      const { parameters, capacity } = limits[index]!;
      const levels = hit.alerts && levelsOf(hit.rule.thresholds!, capacity);
      return { ...hit, parameters, ...(levels && { alerts: { ...hit.alerts, levels } }) };
    });
    const results = await this.store.decide(local, options);
    return results.map((result, index) => localResult(result, hits[index]!, limits[index]!));
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<readonly (boolean | undefined)[]> {
    return this.store.adjust(adjustments);
  }

  /** Blocks the subject of a counter in this process, or ends its block. */
  async block(counter: Counter, duration: number): Promise<void> {
    await this.store.block(counter, duration);
  }

  /** Deletes the state in this process. */
  async reset(counters: readonly Counter[]): Promise<void> {
    await this.store.reset(counters);
  }

  private limitOf({ rule, subject }: RuleHit): LocalLimit {
    const amounts = rule.among(rule.perInstance ? 1 : this.instances());
    const ofRule = amounts.parametersAt?.(this.store.clock()) ?? amounts.parameters;
    const ofSubject = parametersOfSubject(rule, subject);
    const parameters = ofSubject ? { ...ofRule, ...ofSubject } : ofRule;
    const { capacity, capacityWindowMs } = amounts;
    return { parameters, capacity, capacityWindowMs };
  }
}

/**
 * Returns the result with its source and local limit. If the cost exceeds that but not the rule's limit, the result has a short
 * `retryAfter` and the fallback `'deny'`: only the store can allow the request.
 */
function localResult(result: HitResult, hit: RuleHit, limit: LocalLimit): HitResult {
  const isTooLarge = !result.allowed && hit.cost > limit.capacity && hit.cost <= hit.rule.capacity;
  const decided: HitResult = { ...result, source: 'fallback', fallback: 'local', local: limit };
  if (!isTooLarge) return decided;
  return { ...decided, retryAfter: Math.max(RETRY_AFTER, result.retryAfter ?? 0), fallback: 'deny' };
}
