import { isFields, pickFields } from '../contracts/fields.js';
import { FROM_ONE, readOptions } from '../contracts/options.js';
import {
  ifValid,
  RateLimitConfigError,
  rejectAny,
  rejectConfig,
  rejectValue,
} from '../contracts/rate-limit-config.error.js';
import {
  changeProblem,
  type ExceptedSubject,
  MOST_RECORDS,
  type RuleChange,
  type RuleChangeRecord,
  type RuleSource,
  type SourcedRule,
} from '../contracts/rule-source.js';
import { RateLimitConflictError } from '../contracts/rate-limit-conflict.error.js';
import { RateLimitStoreError } from '../limiter/rate-limit-store.error.js';
import {
  SUBJECT_ALLOWED,
  subjectFromProgram,
  subjectFromSource,
  type SubjectValue,
} from '../rules/subject.js';
import { exceptionKey, textOfFields } from '../nest/rules/rule-changes.js';
import { subjectOfProgram } from '../nest/programs/program-rules.js';
import type { RuleTable } from '../nest/rules/rule-table.js';
import type { Warnings } from '../nest/warnings.js';
import {
  AUTHOR_OPTIONS,
  readSetOptions,
  UNSET_OPTIONS,
  type SetOptions,
  type UnsetOptions,
  type LiveRuleFields,
} from './change-options.js';
import { checkedRules, inTime, LiveFollower } from './live-follower.js';
import { LiveRules } from '../nest/live-rules.js';
import { LiveState, NO_CHANGES } from './live-state.js';

/** Milliseconds in which a source has to return what it holds, and to confirm a change. */
const WITHIN_MS = { read: 1000, change: 5000 };

/** The live rules of a module with a source. */
export class SourceRules extends LiveRules {
  private readonly state: LiveState;
  readonly follower: LiveFollower;

  constructor(
    table: RuleTable,
    readonly source: RuleSource,
    warnings: Warnings,
  ) {
    super(table);
    this.state = new LiveState(table, warnings);
    this.follower = new LiveFollower(source, this.state, warnings);
  }

  async set(rule: string, fields: LiveRuleFields, options: SetOptions): Promise<number> {
    checkName(rule);
    const read = readSetOptions('rules.set', options);
    return this.write({ ...read, rule, fields: stated(rule, fields) });
  }

  async unset(rule: string, options: UnsetOptions): Promise<number> {
    checkName(rule);
    return this.write({ ...readOptions('rules.unset', options, UNSET_OPTIONS), rule, fields: undefined });
  }

  async setException(
    rule: string,
    subject: SubjectValue,
    exception: LiveRuleFields | 'allow' | 'deny',
    options: SetOptions,
  ): Promise<number> {
    const same = this.spelled(rule, subject);
    const read = readSetOptions('rules.setException', options);
    return this.write({ ...read, rule, subject: same, fields: stated(rule, exception) });
  }

  async unsetException(rule: string, subject: SubjectValue, options: UnsetOptions): Promise<number> {
    const same = this.spelled(rule, subject);
    const read = readOptions('rules.unsetException', options, UNSET_OPTIONS);
    return this.write({ ...read, rule, subject: same, fields: undefined });
  }

  async get(rule: string, subject?: SubjectValue): Promise<SourcedRule | undefined> {
    checkName(rule);
    const same = subject === undefined ? undefined : this.spelled(rule, subject);
    const { source } = this;
    const { entries } = await bySource('read', async () => checkedRules(await source.load()));
    const text = JSON.stringify(same);
    return entries.find((entry) => entry.rule === rule && JSON.stringify(entry.subject) === text);
  }

  async history(most = 100): Promise<readonly RuleChangeRecord[]> {
    if (!FROM_ONE.accepts(most)) rejectValue('most', most, FROM_ONE.allowed);
    const { source } = this;
    if (!source.history) rejectConfig('rules.history: the source in `liveRules` has no history');
    const wanted = Math.min(most, MOST_RECORDS);
    const records = await bySource('read', () => source.history!(wanted));
    return records.slice(0, wanted);
  }

  async restore(options: Omit<UnsetOptions, 'version'>): Promise<number> {
    return this.confirm('restore', options);
  }

  async accept(options: Omit<UnsetOptions, 'version'>): Promise<number> {
    return this.confirm('accept', options);
  }

  private async confirm(how: 'restore' | 'accept', options: Omit<UnsetOptions, 'version'>): Promise<number> {
    const author = readOptions(`rules.${how}`, options, AUTHOR_OPTIONS);
    const { source } = this;
    if (!source[how]) rejectConfig(`rules.${how}: the source in liveRules reports no losses`);
    return this.change(() => source[how]!(author));
  }

  /**
   * Returns a subject as the source has it: 42 and '42' are one subject, and so are the forms of an address.
   *
   * @throws RateLimitConfigError if it is no subject: a digest with the right fields may be from a client
   */
  private spelled(rule: string, subject: SubjectValue): ExceptedSubject {
    checkName(rule);
    if (subjectFromProgram(subject) === undefined)
      rejectValue(`subject of rule "${rule}"`, subject, SUBJECT_ALLOWED);
    const ofRule = this.state.held.filter((each) => each.rule === rule && each.subject !== undefined);
    const subjects = ofRule.map((each) => each.subject!);
    if (subjects.some((each) => JSON.stringify(each) === JSON.stringify(subject))) return subject;
    const rules = new Map(
      this.table
        .rulesNamed(rule)
        .map((each) => [textOfFields([each.by, each.declared.fields.ipv6Prefix]), each]),
    );
    const keysOf = (given: SubjectValue) =>
      Array.from(rules.values(), (each) => ifValid(() => exceptionKey(subjectOfProgram(each, given))));
    const wanted = keysOf(subject);
    const isSame = (each: ExceptedSubject): boolean =>
      keysOf(subjectFromSource(each)).some((key, nth) => key !== undefined && key === wanted[nth]);
    return subjects.find(isSame) ?? subject;
  }

  /** @throws RateLimitConfigError if the change does not fit its rule */
  private async write(change: RuleChange): Promise<number> {
    const { source } = this;
    if (!source.write) rejectConfig('live rules: the source in `liveRules` is read-only; change it there');
    const wrong = changeProblem(change);
    if (wrong !== undefined) rejectConfig(wrong);
    const { rule, fields } = change;
    if (fields !== undefined) {
      const { layer, exceptions } = this.table.changes.get(rule) ?? NO_CHANGES;
      const entry = { ...change, fields, until: Infinity };
      const changes =
        change.subject === undefined ? { layer: entry, exceptions } : { layer, exceptions: [entry] };
      rejectAny(this.table.problemsOf(rule, changes));
    }
    return this.change(() => source.write!(change));
  }

  /** Returns the version after a change, when it is in force in this process. */
  private async change(run: () => Promise<number>): Promise<number> {
    const version = await bySource('change', run);
    await this.follower.read();
    return version;
  }
}

/** @throws RateLimitStoreError if the source fails, unless it rejects a change */
async function bySource<Result>(operation: 'read' | 'change', run: () => Promise<Result>): Promise<Result> {
  try {
    return await inTime(run, WITHIN_MS[operation]);
  } catch (error) {
    if (error instanceof RateLimitConfigError || error instanceof RateLimitConflictError) throw error;
    throw new RateLimitStoreError(operation, error);
  }
}

/** @throws RateLimitConfigError if it is no text: a list would be further arguments of the command of Redis */
function checkName(rule: unknown): void {
  if (typeof rule !== 'string') rejectValue('live rule', rule, 'the name of a rule, a string');
}

/**
 * Returns a change without the fields that are `undefined`, which JSON does not have.
 *
 * @throws RateLimitConfigError if there is no change: it would remove the one before
 */
function stated<Change extends LiveRuleFields | 'allow' | 'deny'>(rule: string, change: Change): Change {
  if (change === undefined) {
    const fix = 'an object with fields of a rule; to remove a live change, use unset() or unsetException()';
    rejectValue(`live rule "${rule}"`, change, fix);
  }
  return isFields(change) ? (pickFields(change) as Change) : change;
}
