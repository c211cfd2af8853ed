import { Inject, Injectable } from '@nestjs/common';
import { Warnings } from '../nest/warnings.js';
import { RateLimitConfigError, unknownName } from '../contracts/rate-limit-config.error.js';
import type { SourcedRules } from '../contracts/rule-source.js';
import { after, type Timer } from '../contracts/timer.js';
import { KeyedRule } from '../rules/keyed-rule.js';
import { sampleOf } from '../nest/request/per-request-rule.js';
import type { RouteLimit } from '../nest/request/route-limit.js';
import { Routes } from '../nest/request/routes.js';
import { RuleBook } from '../nest/rules/rule-book.js';
import {
  changedFields,
  changeOf,
  changesByRule,
  checkExceptions,
  textOf,
  unexpired,
  type ChangedRule,
  type HeldRule,
  type RuleChanges,
  ExceptionCache,
} from './change-of-rule.js';

/** Reports live rules of the source that do not fit: once, until the source holds other ones. */
@Injectable()
export class RejectedRules {
  private readonly reasons = new Map<string, string>();

  constructor(@Inject(Warnings) private readonly warnings: Warnings) {}

  reject(rule: string, problems: readonly string[]): void {
    const reason = problems.join('; ');
    if (this.reasons.get(rule) === reason) return;
    this.accept(rule);
    this.reasons.set(rule, reason);
    const stays =
      'The last live rule that was right, or the rule in the code, stays in force in this process';
    this.warnings.warn('RL_LIVE_RULE_REJECTED', `${reason}. ${stays}; correct the rule in the source.`, rule);
  }

  accept(rule: string): void {
    this.reasons.delete(rule);
    this.warnings.withdraw('RL_LIVE_RULE_REJECTED', rule);
  }

  /** Forgets the rules that the source does not hold any more. */
  keep(rules: readonly string[]): void {
    for (const rule of this.reasons.keys()) if (!rules.includes(rule)) this.accept(rule);
  }
}

/** Maximum number of replaced changes of a rule whose counters are still known. */
const MOST_REPLACED = 5;

const UNKEYED = (): KeyedRule => new KeyedRule(() => []);

/**
 * The live changes that are in force in this process. A change that does not fit its rule is not taken over: the last one
 * that fitted stays. Rules are compiled when they change, and a route has its current rules, so that a request looks
 * nothing up.
 */
@Injectable()
export class LiveState {
  /** What the routes of a rule share. */
  readonly exceptions = new ExceptionCache();
  private held: readonly HeldRule[] = [];
  private inForce: ReadonlyMap<string, RuleChanges> = new Map();
  /** The changes of each rule that others have replaced, the oldest first. */
  private readonly replaced = new Map<string, readonly RuleChanges[]>();
  private readonly changesOfLimit = new WeakMap<RouteLimit, RuleChanges>();
  private expiry: Timer | undefined;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(Routes) private readonly routes: Routes,
    @Inject(RuleBook) private readonly book: RuleBook,
    @Inject(RejectedRules) private readonly rejected: RejectedRules,
  ) {}

  /** Calls a listener after each change. */
  watch(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** The changes of a rule that are in force. */
  changesOf(rule: string): RuleChanges | undefined {
    return this.inForce.get(rule);
  }

  /** The changes of a rule that others have replaced in this process, the oldest first: the last five. */
  replacedOf(rule: string): readonly RuleChanges[] {
    return this.replaced.get(rule) ?? [];
  }

  /** A limit as those changes had it. */
  formsOf({ name, declared }: RouteLimit): readonly RouteLimit[] {
    return this.replacedOf(name).map((changes) => this.make(declared, changes));
  }

  /** All changes that are in force. */
  get entries(): readonly HeldRule[] {
    return [...this.inForce.values()].flatMap(({ layer, exceptions }) => [
      ...(layer ? [layer] : []),
      ...exceptions,
    ]);
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

  /** Returns the problems of changes of a rule, wherever the rule applies. */
  problemsOf(rule: string, changes: RuleChanges): readonly string[] {
    const problems = new Set<string>();
    const attempt = (make: () => unknown): void => {
      try {
        make();
      } catch (error) {
        if (!(error instanceof RateLimitConfigError)) throw error;
        for (const problem of error.problems) problems.add(problem);
      }
    };
    const limits = [...this.routes.all()].flat().filter(({ name }) => name === rule);
    const fields = this.book.namedRule(rule);
    if (!fields && limits.length === 0) {
      return [unknownName(`live rule "${rule}": no rule has this name`, rule, this.book.allNames)];
    }
    const checked = new Set<string>();
    const check = (of: ChangedRule): void => {
      const text = this.exceptions.textOf([of.fields, of.by]);
      if (!checked.has(text)) attempt(() => checkExceptions(of, changes, this.exceptions));
      checked.add(text);
    };
    if (fields) {
      const by = fields['by'] as RouteLimit['fields']['by'];
      attempt(() => sampleOf(changedFields(fields, changes), `live rule "${rule}"`));
      check({ fields, by, keyed: UNKEYED });
    }
    for (const { declared } of limits) {
      attempt(() => this.make(declared, changes));
      check(changedRule(declared));
    }
    return [...problems];
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
    this.rejected.keep([...byRule.keys(), ...this.held.filter(isUnreadable).map(nameOf)]);
    for (const [rule, changes] of this.inForce) {
      if (next.get(rule) === changes) continue;
      this.replaced.set(rule, [...this.replacedOf(rule), changes].slice(-MOST_REPLACED));
    }
    this.inForce = next;
    this.routes.replace((limit) => this.current(limit));
    this.exceptions.turnOver();
    for (const listener of this.listeners) listener();
    this.expiry?.stop();
    const until = Math.min(...[...this.held, ...held].map((entry) => entry.until));
    if (until < Infinity) this.expiry = after(until - now, () => this.refresh());
  }

  /** Returns the changes that the source can read. Instead of each other one, the last that applied stays. */
  private readable(now: number): readonly HeldRule[] {
    return this.held.flatMap((entry) => {
      if (!isUnreadable(entry)) return [entry];
      this.rejected.reject(nameOf(entry), [entry.unreadable!]);
      const { layer, exceptions } = this.inForce.get(entry.rule) ?? { layer: undefined, exceptions: [] };
      const name = nameOf(entry);
      return [layer, ...exceptions].filter(
        (last): last is HeldRule => last !== undefined && last.until > now && nameOf(last) === name,
      );
    });
  }

  /** Returns the changes of a rule that apply from now on: the last ones if these do not fit. */
  private accepted(rule: string, changes: RuleChanges): RuleChanges | undefined {
    const known = this.inForce.get(rule);
    if (known && textOf(known) === textOf(changes)) return known;
    const problems = this.problemsOf(rule, changes);
    if (problems.length === 0) {
      this.rejected.accept(rule);
      return changes;
    }
    this.rejected.reject(rule, problems);
    return known && unexpired(known);
  }

  private current(limit: RouteLimit): RouteLimit {
    const changes = this.inForce.get(limit.name);
    if (!changes) return limit.declared;
    if (this.changesOfLimit.get(limit) === changes) return limit;
    try {
      return this.make(limit.declared, changes);
    } catch (error) {
      if (!(error instanceof RateLimitConfigError)) throw error;
      this.rejected.reject(limit.name, error.problems); // A route that is found after the change.
      return limit.declared;
    }
  }

  private make(declared: RouteLimit, changes: RuleChanges): RouteLimit {
    const limit = declared.changedBy(changeOf(changedRule(declared), changes, this.exceptions));
    this.changesOfLimit.set(limit, changes);
    return limit;
  }
}

function isUnreadable({ unreadable }: HeldRule): boolean {
  return typeof unreadable === 'string';
}

/** The name of a change among those that are rejected; no rule has it. */
function nameOf({ rule, subject }: HeldRule): string {
  return JSON.stringify([rule, subject]);
}

function changedRule({ fields, keyed }: RouteLimit): ChangedRule {
  return { fields, by: fields.by ?? 'ip', keyed };
}
