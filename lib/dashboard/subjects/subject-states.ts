import type { RuleDecision } from '../../contracts/decision.js';
import type { RateLimitService } from '../../nest/rate-limit.service.js';
import { decisionOf } from '../../limiter/decision.js';
import type { RuleHit } from '../../rules/compiled-rule.js';

/** Maximum number of counters that are read in one call. */
const MOST_READ = 50;

/** What a rule has decided for a subject so far. */
export interface SubjectState extends RuleDecision {
  readonly hit: RuleHit;
  /** Milliseconds until its block ends; absent if it is not blocked. */
  readonly blockedMs?: number;
}

/** Returns the state of each counter, without taking permits. */
export async function statesOf(
  { engine }: RateLimitService,
  hits: readonly RuleHit[],
): Promise<readonly SubjectState[]> {
  const states: SubjectState[] = [];
  for (let first = 0; first < hits.length; first += MOST_READ) {
    const part = hits.slice(first, first + MOST_READ);
    const results = await engine.store.decide(part, { dryRun: true });
    const { decisions } = decisionOf(part, results, true);
    for (const [index, hit] of part.entries()) {
      const { blockedFor } = results[index]!;
      const block = blockedFor === undefined ? {} : { blockedMs: Math.ceil(blockedFor / 1000) };
      states.push({ ...decisions[index]!, ...block, hit });
    }
  }
  return states;
}
