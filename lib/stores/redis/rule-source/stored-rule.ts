import { fieldsIn, jsonIn } from '../../../contracts/fields.js';
import { shown } from '../../../contracts/shown.js';
import {
  changeProblem,
  LONGEST_CHANGE,
  type ExceptedSubject,
  type RuleChange,
  type RuleChangeRecord,
  type SourcedRule,
} from '../../../contracts/rule-source.js';

/** Separates the name of a rule, which is printable, from the subject of an exception. */
const BREAK = '\n';

/** Without counters of its own. */
const NONE = '-';

/** The field of a change in the hash. */
export function fieldOf({ rule, subject }: Pick<RuleChange, 'rule' | 'subject'>): string {
  return subject === undefined ? rule : `${rule}${BREAK}${JSON.stringify(subject)}`;
}

/** The JSON of a change in the hash; empty if the change is removed. */
export function changeText({ fields, by, reason }: RuleChange): string {
  return fields === undefined ? '' : JSON.stringify({ fields, by, reason });
}

/** The JSON of a change in the history. */
export function recordText({ version: _version, ...change }: RuleChange): string {
  return JSON.stringify(change);
}

/**
 * Reads a change; `undefined` if it has ended. One that another program wrote is unreadable.
 *
 * @param now the server's time in milliseconds
 */
export function readRule(field: string, text: string, now: number): SourcedRule | undefined {
  const named = readField(field);
  const [, version, end, made, counter, json = ''] =
    /^(\d{1,16}) (\d{1,16}) (\d{1,16}) (\S+) (.+)$/s.exec(text) ?? [];
  const stored = fieldsIn(json);
  if (!named || stored?.['fields'] === undefined) return unreadable(field, text, named);
  // A rule that is made later than now is one whose clock was set back, and that Redis could not move.
  const expiresInMs = Number(end) === 0 ? undefined : Number(end) - Math.max(now, Number(made));
  if (expiresInMs !== undefined && expiresInMs <= 0) return undefined;
  const { fields, by, reason } = stored as unknown as Pick<SourcedRule, 'fields' | 'by' | 'reason'>;
  return {
    ...named,
    fields,
    expiresInMs,
    version: Number(version),
    counter: counter === NONE ? undefined : counter,
    by,
    reason,
    at: Number(made),
  };
}

/** Reads a record of the history; `undefined` if another program wrote it. */
export function readRecord(text: string): RuleChangeRecord | undefined {
  const [, version, at, json = ''] = /^(\d{1,16}) (\d{1,16}) (.*)$/s.exec(text) ?? [];
  const change = fieldsIn(json);
  if (typeof change?.['rule'] !== 'string') return undefined;
  const made = change as unknown as RuleChange;
  return changeProblem(made) ? undefined : { ...made, version: Number(version), at: Number(at) };
}

type Named = Pick<SourcedRule, 'rule' | 'subject'>;

/** Reads the field of a change; `undefined` if it is not written as `fieldOf` does. */
function readField(field: string): Named | undefined {
  const [rule = '', json] = field.split(BREAK);
  if (field.length > LONGEST_CHANGE) return undefined;
  const subject = json === undefined ? undefined : (jsonIn(json) as ExceptedSubject | undefined);
  return fieldOf({ rule, subject }) === field ? { rule, subject } : undefined;
}

/** Returns a change that cannot be read. If its field cannot be read either, the whole field is the name of its rule. */
function unreadable(field: string, text: string, named: Named = { rule: field }): SourcedRule {
  const { rule, subject } = named;
  const exception = subject === undefined ? '' : ` for subject ${JSON.stringify(subject)}`;
  const fix = 'replace it with rules.set() or remove it with rules.unset()';
  const what = `live rule ${shown(rule)}${exception}: got ${shown(text)}, which cannot be read; ${fix}`;
  return { ...named, fields: {}, unreadable: what };
}

/** Why rules are lost, by the codes of rule-version.lua. */
export const LOSSES: Readonly<Record<string, string>> = {
  absent: 'Redis has no version of live rules any more',
  anew: 'the live rules in Redis were written anew, into an empty source',
  older: 'Redis has an older version of the live rules',
  other: 'Redis has other live rules with the same version',
  changed: 'the live rules in Redis are not those that were written with their version',
};

export const CONFIRM = 'confirm it with rules.restore() or rules.accept() before other changes';

/** Returns a version, and the fields and values of its rules in turn. */
export function keptParts(text: string) {
  const [version = '', json = '[]'] = text.split('\n');
  return { version, parts: JSON.parse(json) as string[] };
}

/** Reads rules, the oldest first. */
export function rulesOf(parts: readonly string[], now: number): readonly SourcedRule[] {
  const fields = parts.filter((_part, index) => index % 2 === 0);
  const rules = fields.flatMap((field, index) => readRule(field, parts[2 * index + 1]!, now) ?? []);
  return rules.sort((one, other) => (one.version ?? 0) - (other.version ?? 0));
}
