import { Inject, Injectable } from '@nestjs/common';
import { hasFigures } from '../../../contracts/decision.js';
import { RateLimitConfigError } from '../../../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../../../rules/rule-hit.js';
import { RateLimitService } from '../../rate-limit.service.js';
import { subjectOfText } from './subject-text.js';

/** Maximum number of counters that are read in one call. */
const MOST_READ = 50;

/** A counter of which the permits are wanted. */
export interface AskedCounter {
  readonly rule: string;
  /** See `subjectText`. */
  readonly subject: string;
  readonly route: string | undefined;
}

/** Reads how many permits subjects have left, without taking any. */
@Injectable()
export class RemainingPermits {
  constructor(@Inject(RateLimitService) private readonly limits: RateLimitService) {}

  /** Returns the permits of each counter; `null` if they are unknown or depend on the request. */
  async of(counters: readonly AskedCounter[]): Promise<readonly (number | null)[]> {
    const hits = counters.map((counter) => this.hitOf(counter));
    const known = [...new Map(hits.flatMap((hit) => (hit ? [[hit.key, hit] as const] : []))).values()];
    const remaining = new Map<string, number | null>();
    for (let first = 0; first < known.length; first += MOST_READ) {
      const part = known.slice(first, first + MOST_READ);
      const { decisions } = await this.limits.decide(part, { dryRun: true });
      part.forEach(({ key }, index) => {
        const decision = decisions[index]!;
        remaining.set(key, hasFigures(decision) ? decision.remaining : null);
      });
    }
    return hits.map((hit) => (hit ? remaining.get(hit.key)! : null));
  }

  private hitOf({ rule, subject, route }: AskedCounter): RuleHit | undefined {
    try {
      for (const each of this.limits.rulesNamed(rule)) {
        if (each.dynamic.length > 0) continue;
        const hit = each.hitsOf(subjectOfText(subject), 0).find((found) => found.rule.trialOf === undefined);
        if (hit && hit.route === route) return hit;
      }
    } catch (error) {
      if (!(error instanceof RateLimitConfigError)) throw error; // An exception that does not fit the rule.
    }
    return undefined;
  }
}
