import type { SourcedRules } from '../contracts/rule-source.js';
import { after, type Timer } from '../contracts/timer.js';
import { entryOf } from '../contracts/entry-of.js';
import type { HeldRule, RuleChanges } from '../nest/rules/rule-changes.js';
import { entriesOf, type RuleTable } from '../nest/rules/rule-table.js';
import type { Warnings } from '../nest/warnings.js';

/** Those of a rule without live changes. */
export const NO_CHANGES: RuleChanges = { layer: undefined, exceptions: [] };

/**
 * The live changes that are in force in this process. A change that does not fit its rule is not taken over: the last one
 * that fitted stays. Rules are compiled when they change, so that a request looks nothing up.
 */
export class LiveState {
  /** The changes of the source that have not ended. */
  held: readonly HeldRule[] = [];
  private expiry: Timer | undefined;
  /** Why changes do not fit or cannot be read, by rule: what was found last, and what was reported. */
  private readonly problems = new Map<string, Set<string>>();
  private readonly reported = new Map<string, string>();
  private isRefreshing = false;

  constructor(
    private readonly table: RuleTable,
    private readonly warnings: Warnings,
  ) {
    table.reject = (rule, problems) => {
      this.reject(rule, problems);
      if (!this.isRefreshing) this.report();
    };
  }

  /** Puts the rules of a source in force, except those that do not fit. */
  apply({ entries }: SourcedRules): void {
    const now = performance.now();
    this.held = entries.map((entry) => ({ ...entry, until: now + (entry.expiresInMs ?? Infinity) }));
    this.refresh();
  }

  close(): void {
    this.expiry?.stop();
  }

  /** Lifts what has ended, and takes over the rest. */
  private refresh(): void {
    const now = performance.now();
    this.isRefreshing = true;
    this.problems.clear();
    this.held = this.held.filter(({ until }) => until > now);
    const next = new Map<string, RuleChanges>();
    for (const [rule, stored] of changesByRule(this.held)) {
      const accepted = this.accepted(rule, stored, now);
      if (entriesOf(accepted).length > 0) next.set(rule, accepted);
    }
    this.table.change(next);
    this.isRefreshing = false;
    this.report();
    this.expiry?.stop();
    const entries = [...this.held, ...[...next.values()].flatMap(entriesOf)];
    const until = Math.min(...entries.map((entry) => entry.until).filter((end) => end > now));
    if (until < Infinity) this.expiry = after(until - now, () => this.refresh());
  }

  /**
   * Returns the changes of a rule that apply from now on. Instead of each that does not fit, or that the source cannot read, the
   * last one that applied stays until its end, if it fits.
   */
  private accepted(rule: string, stored: RuleChanges, now: number): RuleChanges {
    const known = this.table.changes.get(rule) ?? NO_CHANGES;
    const last = new Map(entriesOf(known).map((each) => [nameOf(each), each]));
    const lastOf = (entry: HeldRule): HeldRule | undefined => last.get(nameOf(entry));
    const isInForce = (entry: HeldRule): boolean => textOf(entry) === textOf(lastOf(entry));
    const rejected = new Set<HeldRule>();
    const reject = (misfits: Iterable<readonly [HeldRule, Iterable<string>]>): void => {
      for (const [entry, problems] of misfits) {
        rejected.add(entry);
        this.reject(rule, problems);
      }
    };
    reject(entriesOf(stored).flatMap((each) => (each.unreadable ? [[each, [each.unreadable]]] : [])));

    let { layer } = stored;
    if (layer && !rejected.has(layer) && !isInForce(layer))
      reject(this.table.misfits(rule, { layer, exceptions: [] }));
    if (layer && rejected.has(layer)) layer = [lastOf(layer)].find((each) => each && each.until > now);

    const isSame = textOf(layer) === textOf(known.layer);
    const isTaken = (entry: HeldRule): boolean => !rejected.has(entry);
    const stands = (entry: HeldRule): boolean => isSame && isInForce(entry);
    const misfits = (exceptions: readonly HeldRule[], standing: readonly HeldRule[] = []) =>
      exceptions.length > 0 ? this.table.misfits(rule, { layer, exceptions, standing }) : NO_MISFITS;
    const taken = stored.exceptions.filter(isTaken);
    reject(
      misfits(
        taken.filter((each) => !stands(each)),
        taken.filter(stands),
      ),
    );
    const former = stored.exceptions.flatMap((each) => (isTaken(each) ? [] : (lastOf(each) ?? [])));
    const staying = former.filter(({ until }) => until > now);
    const kept = stored.exceptions.filter(isTaken);
    const unfit = misfits(staying, kept);
    const exceptions = [...kept, ...staying.filter((each) => !unfit.has(each))];
    const changes = { layer, exceptions };
    const isUnchanged = (entry: HeldRule): boolean => isInForce(entry) && endsAlike(entry, lastOf(entry)!);
    const isKnown = entriesOf(changes).length === last.size && entriesOf(changes).every(isUnchanged);
    return isKnown ? known : changes;
  }

  private reject(rule: string, problems: Iterable<string>): void {
    const found = entryOf(this.problems, rule, () => new Set<string>());
    for (const each of problems) found.add(each);
  }

  /** Reports the changes that do not fit: once, until the source holds others. */
  private report(): void {
    for (const rule of this.reported.keys()) if (!this.problems.has(rule)) this.withdraw(rule);
    for (const [rule, problems] of this.problems) {
      const named = [...problems].sort().slice(0, MOST_NAMED).join('; ');
      const reason = problems.size > MOST_NAMED ? `${named}; and ${problems.size - MOST_NAMED} more` : named;
      if (this.reported.get(rule) === reason) continue;
      this.withdraw(rule);
      this.reported.set(rule, reason);
      const stays = 'Instead, the last valid change, or the rule in the code, stays in force in this process';
      this.warnings.warn(
        'RL_LIVE_RULE_REJECTED',
        `${reason}. ${stays}; correct the rule in the source.`,
        rule,
      );
    }
  }

  private withdraw(rule: string): void {
    this.reported.delete(rule);
    this.warnings.withdraw('RL_LIVE_RULE_REJECTED', rule);
  }
}

/** Maximum number of problems of a rule in one warning. */
const MOST_NAMED = 10;

const NO_MISFITS: ReturnType<RuleTable['misfits']> = new Map();

/** Whether two changes end within a second of one another: the end of one change varies with the time that loading takes. */
function endsAlike({ until }: HeldRule, other: HeldRule): boolean {
  return until === other.until || Math.abs(until - other.until) < 1000;
}

/** The rule and the subject of a change. */
function nameOf({ rule, subject }: HeldRule): string {
  return JSON.stringify([rule, subject]);
}

/** What distinguishes changes: everything but their time. */
function textOf(change: HeldRule | undefined): string {
  return JSON.stringify({ ...change, until: undefined, expiresInMs: undefined });
}

/** Returns the changes of each rule by its name. */
function changesByRule(entries: readonly HeldRule[]): Map<string, RuleChanges> {
  const changes = new Map<string, { layer: HeldRule | undefined; exceptions: HeldRule[] }>();
  for (const entry of entries) {
    const ofRule = entryOf(changes, entry.rule, () => ({ layer: undefined, exceptions: [] }));
    if (entry.subject === undefined) ofRule.layer = entry;
    else ofRule.exceptions.push(entry);
  }
  return changes;
}
