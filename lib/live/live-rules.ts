import { Inject, Injectable } from '@nestjs/common';
import { FROM_ONE } from '../contracts/options.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import {
  changeProblem,
  MOST_RECORDS,
  type RuleChange,
  type RuleChangeRecord,
  type RuleLoss,
  type RuleSource,
  type SourcedRule,
} from '../contracts/rule-source.js';
import { RateLimitConflictError } from '../contracts/rate-limit-conflict.error.js';
import { RateLimitStoreError } from '../limiter/rate-limit-store.error.js';
import type { SubjectValue } from '../rules/subject.js';
import { RuleTable } from '../nest/rules/rule-table.js';
import {
  readAuthor,
  readSetOptions,
  readUnsetOptions,
  type SetOptions,
  type UnsetOptions,
  type LiveRuleFields,
} from './change-options.js';
import { checkedRules, inTime, LiveFollower } from './live-follower.js';
import { LiveState } from './live-state.js';
import { type EffectiveRule, effective } from './listed-rule.js';
import { checkSubject, stated, withChange, isSame } from './written-change.js';

/** Milliseconds in which a source has to return what it holds, and to confirm a change. */
const WITHIN_MS = { read: 1000, change: 5000 };

/**
 * Changes the module's rules while the application runs, in every process within a second. Inject `RateLimitService` and
 * use its `rules`. The module needs the option `liveRules`.
 *
 * @example
 * await limits.rules.set('login', { limit: 3 }, { by: 'ops@example.com', reason: 'attack', expires: '1h' });
 */
@Injectable()
export class LiveRules {
  /** @internal */
  constructor(
    @Inject(LiveFollower) private readonly follower: LiveFollower,
    @Inject(LiveState) private readonly state: LiveState,
    @Inject(RuleTable) private readonly table: RuleTable,
  ) {}

  /**
   * Sets fields of a rule wherever it applies. They replace the fields of an earlier live change.
   *
   * @param rule name of a rule in the module's options or in a decorator
   * @returns the version of the change
   * @throws RateLimitConfigError if the rule, a field or an option is invalid; nothing is changed then
   * @throws RateLimitConflictError if `version` is given and the rule has another one
   */
  async set(rule: string, fields: LiveRuleFields, options: SetOptions): Promise<number> {
    const read = readSetOptions('rules.set', options);
    return this.write({ ...read, rule, fields: stated(rule, fields) });
  }

  /**
   * Removes the live change of a rule. Its exceptions stay.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws RateLimitConflictError if `version` is given and the rule has another one
   */
  async unset(rule: string, options: UnsetOptions): Promise<number> {
    return this.write({ ...readUnsetOptions('rules.unset', options), rule, fields: undefined });
  }

  /**
   * Gives one subject other fields of a rule, allows all its requests (`'allow'`) or denies them (`'deny'`).
   *
   * @param subject as programs pass it: an IP, a user id, an API key; for a list in `by`, a list in the same order
   * @returns the version of the change
   * @throws RateLimitConfigError if the rule, the subject, a field or an option is invalid; nothing is changed then
   * @throws RateLimitConflictError if `version` is given and the exception has another one
   */
  async setException(
    rule: string,
    subject: SubjectValue,
    exception: LiveRuleFields | 'allow' | 'deny',
    options: SetOptions,
  ): Promise<number> {
    const read = readSetOptions('rules.setException', options);
    checkSubject(rule, subject);
    return this.write({ ...read, rule, subject, fields: stated(rule, exception) });
  }

  /**
   * Removes the exception of a subject.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws RateLimitConflictError if `version` is given and the exception has another one
   */
  async unsetException(rule: string, subject: SubjectValue, options: UnsetOptions): Promise<number> {
    checkSubject(rule, subject);
    return this.write({
      ...readUnsetOptions('rules.unsetException', options),
      rule,
      subject,
      fields: undefined,
    });
  }

  /** Returns the live change of a rule, as the source holds it now; `undefined` if there is none. */
  async get(rule: string, subject?: SubjectValue): Promise<SourcedRule | undefined> {
    const { source } = this;
    const { entries } = await bySource('read', async () => checkedRules(await source.load()));
    return entries.find((entry) => isSame(entry, { rule, subject }));
  }

  /** Returns every rule as this process applies it, with the origin of each field. */
  list(): readonly EffectiveRule[] {
    return [...this.table.ofOptions, ...this.table.onRoutes].map(effective);
  }

  /**
   * Returns the last changes, the latest first: who, when, what and why. A source keeps 1,000.
   *
   * @param most maximum number of changes, an integer from 1; by default 100
   */
  async history(most = 100): Promise<readonly RuleChangeRecord[]> {
    if (!FROM_ONE.accepts(most)) throw new RateLimitConfigError([problem('most', most, FROM_ONE.allowed)]);
    const { source } = this;
    if (!source.history)
      throw new RateLimitConfigError(['rules.history: the source in `liveRules` has no history']);
    const wanted = Math.min(most, MOST_RECORDS);
    const records = await bySource('read', () => source.history!(wanted));
    return records.slice(0, wanted);
  }

  /** What the source has lost, such as after FLUSHALL; `undefined` if it holds the rules in force. */
  get loss(): RuleLoss | undefined {
    return this.follower.loss;
  }

  /**
   * Ends a loss: stores the rules in force again, with their ends, and returns the version after that.
   *
   * @throws RateLimitConfigError if an option is invalid, or no process has the lost rules
   * @throws RateLimitConflictError if nothing is lost
   */
  async restore(options: Omit<UnsetOptions, 'version'>): Promise<number> {
    return this.confirm('restore', options);
  }

  /**
   * Ends a loss: puts the rules that the source holds in force, and returns the version after that.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws RateLimitConflictError if nothing is lost
   */
  async accept(options: Omit<UnsetOptions, 'version'>): Promise<number> {
    return this.confirm('accept', options);
  }

  private async confirm(how: 'restore' | 'accept', options: Omit<UnsetOptions, 'version'>): Promise<number> {
    const author = readAuthor(`rules.${how}`, options);
    const { source } = this;
    if (!source[how]) {
      throw new RateLimitConfigError([`rules.${how}: the source in liveRules reports no losses`]);
    }
    return this.change(() => source[how]!(author));
  }

  private async write(change: RuleChange): Promise<number> {
    const { source } = this;
    if (!source.write) {
      throw new RateLimitConfigError([
        'live rules: the source in `liveRules` cannot be written; change it where it is',
      ]);
    }
    const wrong = changeProblem(change);
    if (wrong !== undefined) throw new RateLimitConfigError([wrong]);
    if (change.fields !== undefined) this.check(change);
    return this.change(() => source.write!(change));
  }

  /** Returns the version after a change, when it is in force in this process. */
  private async change(run: () => Promise<number>): Promise<number> {
    const version = await bySource('change', run);
    await this.follower.read();
    return version;
  }

  /** @throws RateLimitConfigError if the change does not fit its rule */
  private check(change: RuleChange): void {
    const { rule } = change;
    const held = this.state.changesOf(rule);
    const problems = this.state.problemsOf(rule, withChange(held, change));
    if (problems.length > 0) throw new RateLimitConfigError(problems);
  }

  private get source(): RuleSource {
    const { source } = this.follower;
    if (source) return source;
    throw new RateLimitConfigError([
      "live rules: the module has no source; write liveRules: new RedisRuleSource({ redis: 'redis://…' })",
    ]);
  }
}

/** @throws RateLimitStoreError if the source fails, unless it rejects a change */
async function bySource<Result>(
  operation: keyof typeof WITHIN_MS,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await inTime(run, WITHIN_MS[operation]);
  } catch (error) {
    if (error instanceof RateLimitConfigError || error instanceof RateLimitConflictError) throw error;
    throw new RateLimitStoreError(operation, error);
  }
}
