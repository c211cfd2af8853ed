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
    const held = this.readable(now);
    const byRule = changesByRule(held);
    for (const [rule, changes] of byRule) {
      const accepted = this.accepted(rule, changes);
      if (accepted) next.set(rule, accepted);
    }
    const stored = new Set([...byRule.keys(), ...this.held.filter(isUnreadable).map(nameOf)]);
    for (const rule of this.rejected.keys()) if (!stored.has(rule)) this.withdraw(rule);
    this.table.change(next);
    this.expiry?.stop();
    const until = Math.min(...[...this.held, ...held].map((entry) => entry.until));
    if (until < Infinity) this.expiry = after(until - now, () => this.refresh());
  }

  /** Returns the changes that the source can read. Instead of each other one, the last that applied stays. */
  private readable(now: number): readonly HeldRule[] {
    return this.held.flatMap((entry) => {
      if (!isUnreadable(entry)) return [entry];
      const name = nameOf(entry);
      this.reject(name, [entry.unreadable!]);
      const { layer, exceptions } = this.table.changes.get(entry.rule) ?? NO_CHANGES;
      return [layer, ...exceptions].filter(
        (last): last is HeldRule => last !== undefined && last.until > now && nameOf(last) === name,
      );
    });
  }

  /** Returns the changes of a rule that apply from now on: the last ones if these do not fit. */
  private accepted(rule: string, changes: RuleChanges): RuleChanges | undefined {
    const known = this.table.changes.get(rule);
    if (known && textOf(known) === textOf(changes)) return known;
    const problems = this.table.problemsOf(rule, changes);
    if (problems.length === 0) {
      this.withdraw(rule);
      return changes;
    }
    this.reject(rule, problems);
    return known && unexpired(known);
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

function isUnreadable({ unreadable }: HeldRule): boolean {
  return typeof unreadable === 'string';
}

/** The name of a change among those that are rejected; no rule has it. */
function nameOf({ rule, subject }: HeldRule): string {
  return JSON.stringify([rule, subject]);
}

/** What distinguishes changes: everything but their time. */
function textOf({ layer, exceptions }: RuleChanges): string {
  return JSON.stringify([layer, ...exceptions], (key, value: unknown) =>
    key === 'until' || key === 'expiresInMs' ? undefined : value,
  );
}

/** Returns the changes that have not ended. */
function unexpired({ layer, exceptions }: RuleChanges): RuleChanges {
  const now = performance.now();
  return {
    layer: layer && layer.until > now ? layer : undefined,
    exceptions: exceptions.filter(({ until }) => until > now),
  };
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
