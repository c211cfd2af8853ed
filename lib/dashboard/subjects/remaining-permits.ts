import { Inject, Injectable } from '@nestjs/common';
import { hasFigures, type RuleDecision } from '../../contracts/decision.js';
import { decisionOf } from '../../limiter/decision.js';
import { ifValid } from '../../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import { eachOnce } from '../../nest/programs/program-rules.js';
import type { TableRule } from '../../nest/rules/rule-table.js';
import type { Subject } from '../../rules/subject.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { subjectOfText } from '../collect/masked.js';
import type { SnapshotSubject } from '../snapshot.js';

/** Maximum number of counters that are read in one call, and for a snapshot, so that pages cost Redis little time. */
const MOST_READ = 50;

/** A counter whose permits are read. */
export interface AskedCounter {
  readonly rule: string;
  /** See `subjectText`. */
  readonly subject: string;
  readonly route: string | null | undefined;
}

/** What a subject has left. */
type Permits = Pick<SnapshotSubject, 'remaining' | 'isBlocked'>;

const UNKNOWN: Permits = { remaining: null, isBlocked: false };

/**
 * Reads how many permits subjects have left, without taking any. Of many counters, it reads those that were not read for
 * the longest time.
 */
@Injectable()
export class RemainingPermits {
  /** What was read of each counter, the last one that was read at the end. */
  private readonly known = new Map<string, Permits>();

  constructor(@Inject(RateLimitService) private readonly limits: RateLimitService) {}

  /** Returns the permits of each counter. */
  async of(counters: readonly AskedCounter[]): Promise<readonly Permits[]> {
    const hits = counters.map((counter) => this.hitOf(counter));
    const byKey = new Map(hits.flatMap((hit) => (hit ? [[hit.key, hit] as const] : [])));
    for (const key of this.known.keys()) if (!byKey.has(key)) this.known.delete(key);
    const unread = [...byKey.keys()].filter((key) => !this.known.has(key));
    const next = [...unread, ...this.known.keys()].slice(0, MOST_READ);
    await this.read(next.map((key) => byKey.get(key)!));
    return hits.map((hit) => (hit && this.known.get(hit.key)) ?? UNKNOWN);
  }

  private async read(hits: readonly RuleHit[]): Promise<void> {
    for (const { hit, blockedMs, ...state } of await statesOf(this.limits, hits)) {
      const isBlocked = blockedMs !== undefined || hit.rule.resolved?.['exception'] === 'deny';
      const remaining = hasFigures(state) ? state.remaining : null;
      this.known.delete(hit.key);
      this.known.set(hit.key, { remaining, isBlocked });
    }
  }

  private hitOf({ route, ...counter }: AskedCounter): RuleHit | undefined {
    return knownHits(this.limits, counter).find((hit) => hit.route === (route ?? undefined));
  }
}

/** What a rule has decided for a subject so far. */
export interface SubjectState extends RuleDecision {
  readonly hit: RuleHit;
  /** Milliseconds until its block ends; absent if it is not blocked. */
  readonly blockedMs?: number;
}

/** Returns the hits of a subject under rules, each counter once. An exception that does not fit its rule is reported elsewhere. */
export function hitsOf(rules: readonly TableRule[], subject: Subject): readonly RuleHit[] {
  const hits = rules.flatMap((each) => ifValid(() => each.hitsOf(subject, 0)) ?? []);
  return eachOnce(hits.filter(({ rule }) => rule.trialOf === undefined));
}

/** Returns the hits of a subject under the rules of a name, but for those that depend on the request. */
export function knownHits(
  { table }: RateLimitService,
  { rule, subject }: Pick<AskedCounter, 'rule' | 'subject'>,
): readonly RuleHit[] {
  const rules = table.rulesNamed(rule).filter(({ dynamic }) => dynamic.length === 0);
  return hitsOf(rules, subjectOfText(subject));
}

/** Returns the state of each counter, without taking permits. */
export async function statesOf({ engine }: RateLimitService, hits: readonly RuleHit[]) {
  const states: SubjectState[] = [];
  for (let first = 0; first < hits.length; first += MOST_READ) {
    const part = hits.slice(first, first + MOST_READ);
    const results = await engine.store.decide(part, { dryRun: true });
    const { decisions } = decisionOf(part, results, true);
    for (const [index, hit] of part.entries()) {
      const { blockedFor } = results[index]!;
      // A block of less than a millisecond is one that `Undo` ends.
      const block = (blockedFor ?? 0) < 1000 ? {} : { blockedMs: Math.ceil(blockedFor! / 1000) };
      states.push({ ...decisions[index]!, ...block, hit });
    }
  }
  return states;
}
