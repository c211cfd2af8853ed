import { rejectConfig } from '../contracts/rate-limit-config.error.js';
import type { RuleChangeRecord, RuleLoss, RuleSource, SourcedRule } from '../contracts/rule-source.js';
import type { HeldRule } from './rules/rule-changes.js';
import { originsOf } from './rules/rule-layers.js';
import type { RuleTable, TableRule } from './rules/rule-table.js';
import type { SubjectValue } from '../rules/subject.js';
import type { LiveRuleFields, SetOptions, UnsetOptions } from '../live/change-options.js';
import type { LiveFollower } from '../live/live-follower.js';

/** A field of a rule with its value, and the layer that it comes from. */
export interface EffectiveField {
  /** Value of the field. */
  readonly value: unknown;
  /** Such as `rules.login`, `@RateLimit on LoginController.login`, `overrides.login.limit` or `live rule "login"`. */
  readonly from: string;
}

/** A rule as this process applies it. */
export interface EffectiveRule {
  /** Name of the rule. */
  readonly rule: string;
  /** The route that the rule applies to; absent for the rule of the module's options. */
  readonly route?: string;
  /** Its fields by name, without those that have their default. */
  readonly fields: Readonly<Record<string, EffectiveField>>;
  /** Its live change. Absent if it has none. */
  readonly live?: SourcedRule;
  /** Its exceptions for single subjects. */
  readonly exceptions: readonly SourcedRule[];
}

/**
 * Changes the module's rules while the application runs, in every process within a second. Inject `RateLimitService` and
 * use its `rules`. The module needs the option `liveRules`.
 *
 * @example
 * await limits.rules.set('login', { limit: 3 }, { by: 'ops@example.com', reason: 'attack', expires: '1h' });
 */
export abstract class LiveRules {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly table: RuleTable,
  ) {}

  /** @internal Absent if the module has none. */
  abstract readonly source: RuleSource | undefined;

  /**
   * Sets fields of a rule wherever it applies. They replace the fields of an earlier live change.
   *
   * @param rule name of a rule in the module's options or in a decorator
   * @returns the version of the change
   * @throws RateLimitConfigError if the rule, a field or an option is invalid; nothing is changed then
   * @throws RateLimitConflictError if `version` is given and the rule has another one
   */
  abstract set(rule: string, fields: LiveRuleFields, options: SetOptions): Promise<number>;

  /**
   * Removes the live change of a rule. Its exceptions stay.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws RateLimitConflictError if `version` is given and the rule has another one
   */
  abstract unset(rule: string, options: UnsetOptions): Promise<number>;

  /**
   * Gives one subject other fields of a rule, allows all its requests (`'allow'`) or denies them (`'deny'`).
   *
   * @param subject as programs pass it: an IP, a user id, an API key; for a list in `by`, a list in the same order
   * @returns the version of the change
   * @throws RateLimitConfigError if the rule, the subject, a field or an option is invalid; nothing is changed then
   * @throws RateLimitConflictError if `version` is given and the exception has another one
   */
  abstract setException(
    rule: string,
    subject: SubjectValue,
    exception: LiveRuleFields | 'allow' | 'deny',
    options: SetOptions,
  ): Promise<number>;

  /**
   * Removes the exception of a subject.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws RateLimitConflictError if `version` is given and the exception has another one
   */
  abstract unsetException(rule: string, subject: SubjectValue, options: UnsetOptions): Promise<number>;

  /** Returns the live change of a rule, as the source holds it now; `undefined` if there is none. */
  abstract get(rule: string, subject?: SubjectValue): Promise<SourcedRule | undefined>;

  /** Returns every rule as this process applies it, with the origin of each field. */
  list(): readonly EffectiveRule[] {
    return [...this.table.ofOptions, ...this.table.onRoutes].map(effective);
  }

  /**
   * Returns the last changes, the latest first: who, when, what and why. A source keeps 1,000.
   *
   * @param most maximum number of changes, an integer from 1; by default 100
   */
  abstract history(most?: number): Promise<readonly RuleChangeRecord[]>;

  /** @internal What puts the rules of the source in force, and follows their changes; absent without a source. */
  abstract readonly follower: LiveFollower | undefined;

  /** What the source has lost, such as after FLUSHALL; `undefined` if it holds the rules in force. */
  get loss(): RuleLoss | undefined {
    return this.follower?.loss;
  }

  /**
   * Ends a loss: stores the rules in force again, with their ends, and returns the version after that.
   *
   * @throws RateLimitConfigError if an option is invalid, or no process has the lost rules
   * @throws RateLimitConflictError if nothing is lost
   */
  abstract restore(options: Omit<UnsetOptions, 'version'>): Promise<number>;

  /**
   * Ends a loss: puts the rules that the source holds in force, and returns the version after that.
   *
   * @throws RateLimitConfigError if an option is invalid
   * @throws RateLimitConflictError if nothing is lost
   */
  abstract accept(options: Omit<UnsetOptions, 'version'>): Promise<number>;
}

/** Returns a rule of the table as programs list it. */
function effective({ name: rule, owner, changes, current: { fields } }: TableRule): EffectiveRule {
  const origins = originsOf(fields);
  const entries = Object.entries(fields)
    .filter(([field]) => field !== 'name')
    .map(([field, value]) => [field, { value, from: origins[field] ?? 'the default' }] as const);
  const live = changes?.layer;
  return {
    rule,
    ...(owner !== undefined && { route: owner }),
    fields: Object.fromEntries(entries),
    ...(live && { live: shown(live) }),
    exceptions: (changes?.exceptions ?? []).map(shown),
  };
}

function shown({ until, expiresInMs: _loaded, ...entry }: HeldRule): SourcedRule {
  return until === Infinity
    ? entry
    : { ...entry, expiresInMs: Math.max(0, Math.ceil(until - performance.now())) };
}

/** The live rules of a module without a source. */
export class NoLiveRules extends LiveRules {
  readonly source = undefined;
  readonly follower = undefined;
  readonly set = withoutSource;
  readonly unset = withoutSource;
  readonly setException = withoutSource;
  readonly unsetException = withoutSource;
  readonly get = withoutSource;
  readonly history = withoutSource;
  readonly restore = withoutSource;
  readonly accept = withoutSource;
}

async function withoutSource(): Promise<never> {
  rejectConfig(
    "live rules: the module has no source; write liveRules: new RedisRuleSource({ redis: 'redis://…' })",
  );
}
