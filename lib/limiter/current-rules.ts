import type { MaybePromise } from '../contracts/thenable.js';
import type { RuleHit } from '../rules/compiled-rule.js';

/** Returns the hits that a waiting request would have if it arrived now: a live change may have replaced its rules. */
export type CurrentHits = () => MaybePromise<readonly RuleHit[]>;

/**
 * Returns waiting hits with the limits that their rules have now. A hit whose rule no longer applies, or has started new
 * counters, keeps its own.
 */
export async function withCurrentRules(
  hits: readonly RuleHit[],
  current: CurrentHits | undefined,
): Promise<readonly RuleHit[]> {
  if (!current) return hits;
  const now = await hitsNow(current);
  return hits.map((hit) => {
    const found = now.find(({ key }) => key === hit.key);
    return found ? { ...hit, rule: found.rule, parameters: found.parameters } : hit;
  });
}

async function hitsNow(current: CurrentHits): Promise<readonly RuleHit[]> {
  try {
    return await current();
  } catch {
    return []; // The rule now depends on the request, or a function of the application failed.
  }
}
