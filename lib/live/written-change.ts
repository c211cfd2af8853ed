import { isFields } from '../contracts/fields.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { RuleChange } from '../contracts/rule-source.js';
import { SUBJECT_ALLOWED, subjectFromProgram, type SubjectValue } from '../rules/subject.js';
import type { RuleChanges } from '../nest/rules/rule-changes.js';
import type { LiveRuleFields } from './change-options.js';

/** @throws RateLimitConfigError if it is no subject: a digest with the right fields may be from a client */
export function checkSubject(rule: string, subject: SubjectValue): void {
  if (subjectFromProgram(subject) !== undefined) return;
  throw new RateLimitConfigError([problem(`subject of rule "${rule}"`, subject, SUBJECT_ALLOWED)]);
}

/**
 * Returns a change without the fields that are `undefined`, which JSON does not have.
 *
 * @throws RateLimitConfigError if there is no change: it would remove the one before
 */
export function stated<Change extends LiveRuleFields | 'allow' | 'deny'>(
  rule: string,
  change: Change,
): Change {
  if (change === undefined) {
    const fix = 'an object with fields of a rule; to remove a live change, use unset() or unsetException()';
    throw new RateLimitConfigError([problem(`live rule "${rule}"`, change, fix)]);
  }
  if (!isFields(change)) return change;
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Change;
}

export function withChange(held: RuleChanges | undefined, change: RuleChange): RuleChanges {
  const { layer, exceptions } = held ?? { layer: undefined, exceptions: [] };
  const entry =
    change.fields === undefined ? undefined : { ...change, fields: change.fields, until: Infinity };
  if (change.subject === undefined) return { layer: entry, exceptions };
  const others = exceptions.filter((each) => !isSame(each, change));
  return { layer, exceptions: entry ? [...others, entry] : others };
}

export function isSame(
  one: Pick<RuleChange, 'rule' | 'subject'>,
  other: Pick<RuleChange, 'rule' | 'subject'>,
): boolean {
  return one.rule === other.rule && JSON.stringify(one.subject) === JSON.stringify(other.subject);
}
