import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../../contracts/decision.js';
import type { CompiledRule, RuleHit } from '../../rules/compiled-rule.js';
import type { Subject } from '../../rules/subject.js';
import type { DecisionEvent, DecisionObserver } from '../../limiter/events.js';
import type { BlockOptions } from '../../limiter/rate-limiter.options.js';
import type { DenialRecord } from './denial-record.js';
import { CHART_S, RATE_S, RULE_CHART_S } from '../snapshot.js';
import { Minutes, MOST_RULES, Durations, Seconds } from './counts.js';
import { RuleCounts } from './rule-counts.js';

/** Sources in the order of `Collector.sources`. */
export const SOURCES = ['store', 'cache', 'prefetched', 'fallback'] as const;
export const FALLBACK = 3;

/** Counts the decisions of this process, in bounded memory. */
export class Collector implements DecisionObserver {
  readonly allowed = new Seconds(CHART_S);
  readonly denied = new Seconds(CHART_S);
  readonly durations = new Durations();
  readonly sources = SOURCES.map(() => new Seconds(RATE_S));
  readonly minutes = new Minutes();
  readonly rules = new Map<string, RuleCounts>();
  /** Results of rules beyond the maximum number. */
  readonly uncounted = new Seconds(RATE_S);
  /** The second in which no rule could be removed. */
  private fullIn = 0;
  /** When decisions were counted whose permits may be refunded, in milliseconds since the epoch. */
  private readonly countedAt = new WeakMap<Decision, number>();

  /** Receives the hits of subjects that are blocked, by a denial or by an author. */
  blocked = (_hits: readonly RuleHit[], _ms: number, _author?: BlockOptions): void => undefined;
  /** Receives each threshold that a subject has crossed. */
  crossed = (_rule: CompiledRule, _subject: Subject, _threshold: number): void => undefined;

  /**
   * @param clock milliseconds since the epoch
   * @param denials records denials; absent if they are not recorded
   */
  constructor(
    readonly clock: () => number,
    readonly denials?: DenialRecord,
  ) {}

  /** Counts a decision of the limiter. */
  decided(
    hits: readonly RuleHit[],
    { decision, durationMs, context }: Omit<DecisionEvent<ExecutionContext>, 'subjects'>,
  ): void {
    const now = this.clock();
    const second = Math.floor(now / 1000);
    (decision.allowed ? this.allowed : this.denied).add(second);
    if (!decision.allowed) this.denials?.add(now, hits, decision);
    this.durations.add(second, durationMs);
    const source = sourceOf(decision);
    this.sources[source]!.add(second);
    this.minutes.add(second, decision.allowed, source === FALLBACK);
    const { decisions } = decision;
    const route = context && `${context.getClass().name}.${context.getHandler().name}`;
    const denials = decision.allowed ? 0 : enforcedDenials(decision);
    for (let index = 0; index < decisions.length; index += 1) {
      const result = decisions[index]!;
      const hit = hits[index];
      const { trialOf } = hit?.rule ?? {};
      const isAllowed = result.allowed || result.shadow === true;
      if (trialOf === undefined) this.minutes.addResult(second, result.rule, isAllowed);
      const counts = this.countsOf(trialOf ?? result.rule, second);
      if (!counts) continue;
      if (route && trialOf === undefined) counts.addRoute(second, route, isAllowed);
      const { retryAfterMs } = result;
      const isBlocked = !result.allowed && !result.shadow && hit?.block && hit.block.duration > 0;
      if (isBlocked && retryAfterMs !== null) this.blocked([hit], retryAfterMs);
      if (!hit)
        counts.denied.add(second); // Denied without being counted by the limiter.
      else if (trialOf === undefined) {
        const isDeniedElsewhere = denials > (isAllowed ? 0 : 1);
        counts.add(now, result, hit, isDeniedElsewhere);
        if (counts.isRefunded && decision.allowed) this.countedAt.set(decision, now);
      } else if (!result.allowed) counts.trialDeny.add(second);
    }
  }

  /** Counts the refund of permits. */
  refunded(hits: readonly RuleHit[], decision: Decision): void {
    const now = this.clock();
    for (const hit of hits) {
      if (hit.rule.trialOf !== undefined) continue;
      this.rules.get(hit.rule.name)?.refunded(now, hit, this.countedAt.get(decision));
    }
  }

  private countsOf(rule: string, second: number): RuleCounts | undefined {
    let counts = this.rules.get(rule);
    if (!counts) {
      if (this.rules.size >= MOST_RULES && !this.removeIdle(second)) {
        this.uncounted.add(second);
        return undefined;
      }
      counts = new RuleCounts(this.denials?.timelines);
      this.rules.set(rule, counts);
    }
    counts.seen = second;
    return counts;
  }

  /** Removes a rule that has decided nothing for as long as the page shows. Returns whether there is one. */
  private removeIdle(second: number): boolean {
    if (this.fullIn === second) return false;
    for (const [rule, { seen }] of this.rules)
      if (seen < second - RULE_CHART_S) return this.rules.delete(rule);
    this.fullIn = second;
    return false;
  }
}

function enforcedDenials({ decisions }: Decision): number {
  let denials = 0;
  for (const { allowed, shadow } of decisions) if (!allowed && !shadow) denials += 1;
  return denials;
}

function sourceOf({ source, allowed }: Decision): number {
  if (source === 'fallback') return FALLBACK;
  if (source !== 'cache') return 0;
  return allowed ? 2 : 1;
}
