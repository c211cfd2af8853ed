import { UNCOUNTED_RETRY_MS } from '../../contracts/decision.js';
import type { DecideOptions, HitResult, LocalLimit } from '../../contracts/store.js';
import type { BaseStore } from '../../contracts/base-store.js';
import { parametersOfSubject } from '../../rules/keys.js';
import { levelsOf, type RuleHit } from '../../rules/compiled-rule.js';

/** The `retryAfter` of a request that only the store can allow, in microseconds. */
export const RETRY_AFTER = UNCOUNTED_RETRY_MS * 1000;

/**
 * Decides in the memory of this process while the shared store cannot. Each process has a part of each limit: together
 * they allow at most max(limit, number of processes) permits. See docs/adr/0039-local-shares.md.
 *
 * @param store that of this process
 * @param instances how many processes share the limits, from 1
 */
export async function decideLocally(
  store: BaseStore,
  instances: number,
  hits: readonly RuleHit[],
  options: DecideOptions,
): Promise<HitResult[]> {
  if (hits.length === 0) return [];
  const limits = hits.map((hit) => limitOf(hit, instances, store.clock()));
  const local = hits.map((hit, index) => {
    const { parameters, capacity } = limits[index]!;
    const levels = hit.alerts && levelsOf(hit.rule.thresholds!, capacity);
    return { ...hit, parameters, ...(levels && { alerts: { ...hit.alerts, levels } }) };
  });
  const results = await store.decide(local, options);
  return results.map((result, index) => localResult(result, hits[index]!, limits[index]!));
}

function limitOf({ rule, subject }: RuleHit, instances: number, now: number): LocalLimit {
  const amounts = rule.among(rule.perInstance ? 1 : instances);
  const ofRule = amounts.parametersAt?.(now) ?? amounts.parameters;
  const ofSubject = parametersOfSubject(rule, subject);
  const parameters = ofSubject ? { ...ofRule, ...ofSubject } : ofRule;
  const { capacity, capacityWindowMs } = amounts;
  return { parameters, capacity, capacityWindowMs };
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
