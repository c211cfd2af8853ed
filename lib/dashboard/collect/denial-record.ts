import type { RuleDecision } from '../../contracts/decision.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import { DecidedHit } from '../../limiter/decision.js';
import { denialIds } from '../../limiter/denial-id.js';
import type { DecisionEvent } from '../../limiter/events.js';
import type { ExplainedRule, RecordedRequests } from '../../nest/explanation.js';
import { exceptionKey, type HeldRule } from '../../nest/rules/rule-changes.js';
import type { RuleTable } from '../../nest/rules/rule-table.js';
import type { Subject } from '../../rules/subject.js';

/**
 * What one rule decided for a denied request. It refers to no object of the request: the subject is a copy. It is absent if
 * the request was denied without being counted.
 */
export interface RecordedResult extends Pick<
  ExplainedRule<Subject | undefined>,
  'source' | 'subject' | 'cost'
> {
  /** Number of the denial: the results of one request have the same. */
  readonly number: number;
  /** Position among the results of the denial. */
  readonly nth: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly result: RuleDecision;
  /** The route of the counter; absent if routes share it. */
  readonly route: string | undefined;
  /** The live change of the rule, and the exception of the subject, that were in force. */
  readonly change: HeldRule | undefined;
  readonly exception: HeldRule | undefined;
}

/** Number of results that are recorded: those of the last 8,192 denials if each request has one rule. */
export const MOST_RESULTS = 8192;

/** The last denials of this process, in a ring of their results. */
export class DenialRecord {
  readonly timelines = new SubjectTimelines();
  private readonly ring: RecordedResult[] = [];
  private next = 0;

  constructor(private readonly limits: { readonly table: Pick<RuleTable, 'changes' | 'rulesNamed'> }) {}

  add(at: number, hits: readonly RuleHit[], decision: DecisionEvent['decision']): void {
    const number = DecidedHit.numberOf(decision);
    if (number === undefined) return;
    for (const [nth, result] of decision.decisions.entries()) {
      const hit = hits[nth];
      const { source = decision.source } = result;
      const { subject, route, cost = 0 } = hit ?? {};
      const exception = hit && this.exceptionOf(hit);
      const change = this.limits.table.changes.get(hit?.rule.trialOf ?? result.rule)?.layer;
      this.ring[this.next] = { number, nth, at, result, source, subject, route, cost, change, exception };
      this.next = (this.next + 1) % MOST_RESULTS;
    }
  }

  /** Returns the results of a denial; none if it is not recorded, or no longer completely. */
  find(id: string): readonly RecordedResult[] {
    const number = this.ring.find((each) => denialIds.of(each.number) === id)?.number;
    const inOrder = [...this.ring.slice(this.next), ...this.ring.slice(0, this.next)];
    const results = inOrder.filter((each) => each.number === number);
    return results[0]?.nth === 0 ? results : [];
  }

  private exceptionOf({ rule, subject }: RuleHit): HeldRule | undefined {
    if (rule.resolved?.exception === undefined) return undefined;
    const key = exceptionKey(subject);
    const rules = this.limits.table.rulesNamed(rule.name);
    return rules.map(({ current }) => current.exceptions?.get(key)).find(Boolean);
  }
}

/** Maximum number of subjects: those whose last denial is the latest. */
export const MOST_SUBJECTS = 1000;
/** Maximum number of entries of a subject. */
const MOST_ENTRIES = 64;
/** Denied requests within this time are one entry: a client that repeats them does not remove the allowed ones. */
const JOINED_MS = 1000;

/** The requests of the subjects under a rule that were denied, each from its first denial, in bounded memory. */
export class SubjectTimelines {
  /** The time and the number of requests of each entry, the oldest first. The number of denied requests is negative. */
  private readonly known = new Map<number, number[]>();

  /** @param key names the subject, the rule and the route */
  add(key: number, now: number, isDenied: boolean): void {
    const entries = this.known.get(key) ?? (isDenied ? [] : undefined);
    if (!entries) return;
    if (isDenied && entries.at(-1)! < 0 && now - entries.at(-2)! < JOINED_MS) {
      entries[entries.length - 1]! -= 1;
      return;
    }
    entries.push(now, isDenied ? -1 : 1);
    if (entries.length > 2 * MOST_ENTRIES) entries.splice(0, 2);
    if (isDenied) this.keep(key, entries);
  }

  /** Returns the entries of a subject, the oldest first; none if it is not recorded. */
  read(key: number): RecordedRequests['requests'] {
    const entries = this.known.get(key) ?? [];
    return Array.from({ length: entries.length / 2 }, (_, nth) => {
      const [at, count] = entries.slice(2 * nth) as [number, number];
      return { at, outcome: count < 0 ? 'denied' : 'allowed', count: Math.abs(count) };
    });
  }

  /** The subject whose last denial is the oldest makes room. */
  private keep(key: number, entries: number[]): void {
    this.known.delete(key); // to the end, as the subject with the latest denial
    this.known.set(key, entries);
    const [oldest] = this.known.keys();
    if (this.known.size > MOST_SUBJECTS) this.known.delete(oldest!);
  }
}
