import { RateLimitConfigError, rejectValue } from './rate-limit-config.error.js';
import { shown } from './shown.js';

/** The fields of a live rule, as JSON has them: a change of a rule contains only the fields that it changes. */
export type LiveFields = Readonly<Record<string, unknown>>;

/** The subject of an exception: as a program passes it. The digest of a long subject is an object with these fields. */
export type ExceptedSubject = ExceptedPart | readonly ExceptedPart[];

type ExceptedPart = string | number | { readonly head: string; readonly digest: string };

/** What an exception does: `'allow'` skips the rule, `'deny'` denies every request, fields replace those of the rule. */
export type LiveException = LiveFields | 'allow' | 'deny';

/** A change of a rule, or of a rule for one subject, as a source holds it. */
export interface SourcedRule {
  /** Name of the rule. */
  readonly rule: string;
  /** The subject of an exception; absent if the change is for all subjects. */
  readonly subject?: ExceptedSubject | undefined;
  /** The fields that differ from the rule in the code; for a subject also `'allow'` or `'deny'`. */
  readonly fields: LiveException;
  /** Milliseconds from now until the change is lifted; absent if it is not. From 0 down, it has ended already. */
  readonly expiresInMs?: number | undefined;
  /** Version of this change: grows with each change. */
  readonly version?: number | undefined;
  /** Name of the counters that `inherit: 'reset'` has started; absent if there are none. */
  readonly counter?: string | undefined;
  /** Author of the change. */
  readonly by?: string | undefined;
  /** Reason of the change. */
  readonly reason?: string | undefined;
  /** When it was made, in milliseconds since the epoch. */
  readonly at?: number | undefined;
  /** Why the source cannot read the change: it is reported and not applied, whatever its fields. Absent if it can. */
  readonly unreadable?: string | undefined;
}

/** All changes that a source holds. */
export interface SourcedRules {
  /** Differs after each change. */
  readonly version: string | number;
  /** The changes: at most one for each rule, and one for each subject of a rule. While changes are lost, those in force. */
  readonly entries: readonly SourcedRule[];
  /** What the source has lost; absent if it holds the changes that are in force. */
  readonly loss?: RuleLoss | undefined;
  /** The policy by which the source may delete changes, such as `allkeys-lru`; absent if it keeps them. */
  readonly evicting?: string | undefined;
}

/** Changes that a source has lost. They stay in force until an operator confirms what applies. */
export interface RuleLoss {
  /** When it was found, in milliseconds since the epoch. */
  readonly at: number;
  /** What the source holds instead, in words. */
  readonly reason: string;
  /** The changes that the source holds. */
  readonly stored: readonly SourcedRule[];
}

/** A change for a source to store. */
export interface RuleChange {
  /** Name of the rule. */
  readonly rule: string;
  /** The subject of an exception; absent if the change is for all subjects. */
  readonly subject?: ExceptedSubject | undefined;
  /** `undefined` removes the change that the source holds. */
  readonly fields: LiveException | undefined;
  /** Milliseconds until the change is lifted, from 1; absent if it is not. */
  readonly expiresInMs?: number | undefined;
  /** Author of the change. */
  readonly by: string;
  /** Reason of the change. */
  readonly reason?: string | undefined;
  /** The version that the author saw; 0 if there was no change. Absent: any. */
  readonly version?: number | undefined;
  /** `'reset'` starts new counters; the others state what the rule does. */
  readonly inherit?: 'reset' | undefined;
}

/** A change that was made: who, when, what and why. */
export interface RuleChangeRecord extends Omit<RuleChange, 'fields'> {
  /** How a loss was ended; `rule` is empty then. Absent for a change of a rule. */
  readonly loss?: 'restored' | 'accepted' | undefined;
  /** The fields that were set; absent if the change was removed. */
  readonly fields?: LiveException | undefined;
  /** Version that the change got. */
  readonly version: number;
  /** Milliseconds since the epoch, by the clock of the source. */
  readonly at: number;
}

/**
 * Holds rules that change while the application runs. A database or an HTTP endpoint can be one: `load` and `watch` are
 * enough. A source with `write` can be changed by `limits.rules`.
 *
 * @example
 * const source: RuleSource = {
 *   load: async () => ({ version: await db.version(), entries: await db.rules() }),
 *   watch: (changed) => db.onChange(changed),
 * };
 */
export interface RuleSource {
  /** Returns all changes, at most 1,000 that have not ended. It is given up after one second. */
  load(): Promise<SourcedRules>;
  /**
   * Calls back when the rules may have changed or cannot be read. Calls may be repeated: `load` decides.
   *
   * @returns a function that ends the calls
   */
  watch(changed: () => void): () => void;
  /**
   * Stores a change, atomically, and returns its version.
   *
   * @throws RateLimitConflictError if the change is for another version, or changes are lost
   */
  write?(change: RuleChange): Promise<number>;
  /**
   * Ends a loss: stores the changes in force again, and returns the version after that.
   *
   * @throws RateLimitConflictError if nothing is lost
   */
  restore?(author: Pick<RuleChange, 'by' | 'reason'>): Promise<number>;
  /**
   * Ends a loss: puts the changes that the source holds in force, and returns the version after that.
   *
   * @throws RateLimitConflictError if nothing is lost
   */
  accept?(author: Pick<RuleChange, 'by' | 'reason'>): Promise<number>;
  /** Returns the last changes, the latest first. */
  history?(most: number): Promise<readonly RuleChangeRecord[]>;
  /** Releases connections. Called when the application closes, and given up after one second. */
  close?(): Promise<void>;
}

/** Maximum number of changes that a source holds: rules and exceptions together. */
export const MOST_LIVE_RULES = 1000;

/** Maximum number of records in the history of a source of this package. */
export const MOST_RECORDS = 1000;

/** Maximum length of the JSON of a change: its rule, subject and fields. */
export const LONGEST_CHANGE = 4096;

/** Maximum levels of lists and objects in a change: code that reads all of them needs a stack. */
const MOST_LEVELS = 16;

/** Returns why a change is none that a source may hold: it is too long, or JSON cannot hold it. */
export function changeProblem(change: Pick<RuleChange, 'rule' | 'subject' | 'fields'>): string | undefined {
  const { rule, subject, fields } = change;
  const size = sizeOf([rule, subject, fields]);
  if (size === undefined) {
    return `live rule ${shown(rule)}: got a value that JSON cannot hold, such as a bigint, or one of more than ${MOST_LEVELS} levels, such as an object that contains itself; write numbers, strings, true, false, lists and objects of these`;
  }
  return size > LONGEST_CHANGE
    ? `live rule ${shown(rule)}: got ${size} characters of JSON; allowed: at most ${LONGEST_CHANGE}`
    : undefined;
}

/** Returns the length of the JSON of a value; `undefined` if there is none. */
function sizeOf(value: readonly unknown[]): number | undefined {
  if (hasMoreLevels(value, MOST_LEVELS + 1)) return undefined;
  try {
    return JSON.stringify(value).length;
  } catch {
    return undefined;
  }
}

function hasMoreLevels(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return most === 0 || Object.values(value).some((part) => hasMoreLevels(part, most - 1));
}

/** @throws RateLimitConfigError if a change names no rule or no author, or would have ended when it is made, or at no time */
export function checkChange({ rule, by, expiresInMs }: RuleChange): void {
  for (const [name, value] of Object.entries({ rule, by }))
    if (typeof value !== 'string') rejectValue(`${name} of a live change`, value, 'a text');
  if (expiresInMs === undefined || expiresInMs >= 1) return;
  const allowed = 'milliseconds from 1, or undefined for a change without an end';
  rejectValue(`expiresInMs of live rule "${rule}"`, expiresInMs, allowed);
}

/** Returns the error of a change that a source has no room for. */
export function tooManyRules(): RateLimitConfigError {
  return new RateLimitConfigError([
    `live rules: the source holds ${MOST_LIVE_RULES} changes; remove some with unset() or unsetException() first`,
  ]);
}
