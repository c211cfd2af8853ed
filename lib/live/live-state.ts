import type { SourcedRules } from '../contracts/rule-source.js';
import { after, type Timer } from '../contracts/timer.js';
import { entryOf } from '../contracts/entry-of.js';
import type { HeldRule, RuleChanges } from '../nest/rules/rule-changes.js';
import type { RuleTable } from '../nest/rules/rule-table.js';
import type { Warnings } from '../nest/warnings.js';

/** Those of a rule without live changes. */
export const NO_CHANGES: RuleChanges = { layer: undefined, exceptions: [] };

/**
 * The live changes that are in force in this process. A change that does not fit its rule is not taken over: the last one
 * that fitted stays. Rules are compiled when they change, so that a request looks nothing up.
 */
export class LiveState {
  private held: readonly HeldRule[] = [];
  private expiry: Timer | undefined;
  /** Why rules of the source do not fit, by rule. */
  private readonly rejected = new Map<string, string>();

  constructor(
    private readonly table: RuleTable,
    private readonly warnings: Warnings,
  ) {
    table.reject = (rule, problems) => this.reject(rule, problems);
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
    this.held = this.held.filter(({ until }) => until > now);
    const next = new Map<string, RuleChanges>();
    const byRule = changesByRule(this.held);
    for (const [rule, stored] of byRule) {
      const accepted = this.accepted(rule, stored, now);
      if (accepted.layer ?? accepted.exceptions[0]) next.set(rule, accepted);
    }
    for (const rule of this.rejected.keys()) if (!byRule.has(rule)) this.withdraw(rule);
    this.table.change(next);
    this.expiry?.stop();
    let until = Infinity;
    for (const each of [...this.held, ...[...next.values()].flatMap(entriesOf)])
      until = Math.min(until, each.until);
    if (until < Infinity) this.expiry = after(until - now, () => this.refresh());
  }

  /**
   * Returns the changes of a rule that apply from now on. Instead of each that does not fit, or that the source cannot read, the
   * last one that did stays until its end.
   */
  private accepted(rule: string, stored: RuleChanges, now: number): RuleChanges {
    const known = this.table.changes.get(rule) ?? NO_CHANGES;
    const last = new Map(entriesOf(known).map((each) => [nameOf(each), each]));
    const isInForce = (entry: HeldRule): boolean => textOf(entry) === textOf(last.get(nameOf(entry)));
    const lastOf = (entry: HeldRule): readonly HeldRule[] =>
      [last.get(nameOf(entry)) ?? []].flat().filter(({ until }) => until > now);
    const problems = new Set<string>();
    const fits = (changes: RuleChanges): boolean => {
      const unread = entriesOf(changes).flatMap(({ unreadable }) => unreadable ?? []);
      const found = unread.length > 0 ? unread : this.table.problemsOf(rule, changes);
      for (const each of found) problems.add(each);
      return found.length === 0;
    };

    let { layer } = stored;
    if (layer && !isInForce(layer) && !fits({ layer, exceptions: [] })) [layer] = lastOf(layer);
    const isSame = textOf(layer) === textOf(known.layer);
    const isChecked = (entry: HeldRule): boolean => isSame && isInForce(entry);
    const fit = (exceptions: readonly HeldRule[]): boolean => fits({ layer, exceptions });
    const rejected = misfits(
      stored.exceptions.filter((each) => !isChecked(each)),
      fit,
    );
    const exceptions = stored.exceptions.flatMap((each) =>
      rejected.has(each) ? lastOf(each).filter((former) => isSame || fit([former])) : [each],
    );
    if (problems.size > 0) this.reject(rule, [...problems]);
    else this.withdraw(rule);
    const isUnchanged = exceptions.length === known.exceptions.length && exceptions.every(isChecked);
    return isSame && isUnchanged ? known : { layer, exceptions };
  }

  /** Reports a rule of the source that does not fit: once, until the source holds another one. */
  private reject(rule: string, problems: readonly string[]): void {
    const reason = problems.join('; ');
    if (this.rejected.get(rule) === reason) return;
    this.withdraw(rule);
    this.rejected.set(rule, reason);
    const stays = 'The last valid live rule, or the rule in the code, stays in force in this process';
    this.warnings.warn('RL_LIVE_RULE_REJECTED', `${reason}. ${stays}; correct the rule in the source.`, rule);
  }

  private withdraw(rule: string): void {
    this.rejected.delete(rule);
    this.warnings.withdraw('RL_LIVE_RULE_REJECTED', rule);
  }
}

/** The rule and the subject of a change. */
function nameOf({ rule, subject }: HeldRule): string {
  return JSON.stringify([rule, subject]);
}

/** What distinguishes changes: everything but their time. */
function textOf(change: HeldRule | undefined): string {
  return JSON.stringify({ ...change, until: undefined, expiresInMs: undefined });
}

function entriesOf({ layer, exceptions }: RuleChanges): readonly HeldRule[] {
  return layer ? [layer, ...exceptions] : exceptions;
}

/** Returns the changes that do not fit. A check of many costs little more than one of a single change. */
function misfits(
  changes: readonly HeldRule[],
  fit: (part: readonly HeldRule[]) => boolean,
): ReadonlySet<HeldRule> {
  if (changes.length === 0 || fit(changes)) return new Set();
  if (changes.length === 1) return new Set(changes);
  const half = changes.length >> 1;
  return new Set([...misfits(changes.slice(0, half), fit), ...misfits(changes.slice(half), fit)]);
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
