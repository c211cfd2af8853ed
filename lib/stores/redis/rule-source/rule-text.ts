import type {
  ExceptedSubject,
  LiveException,
  RuleChange,
  RuleChangeRecord,
  SourcedRule,
} from '../../../contracts/rule-source.js';

/** Separates the name of a rule, which is printable, from the subject of an exception. */
const BREAK = '\n';

/** Without counters of its own. */
const NONE = '-';

interface Stored {
  readonly fields: LiveException;
  readonly by?: string;
  readonly reason?: string;
}

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
 * Reads a change; `undefined` if it has ended.
 *
 * @param now the server's time in milliseconds
 * @throws Error if the text is not that of a change
 */
export function readRule(field: string, text: string, now: number): SourcedRule | undefined {
  const [, version, end, made, counter, json] = /^(\d+) (\d+) (\d+) (\S+) (.+)$/s.exec(text) ?? [];
  if (json === undefined) throw new Error(`the live rule ${JSON.stringify(field)} cannot be read`);
  const expiresInMs = Number(end) === 0 ? undefined : Number(end) - now;
  if (expiresInMs !== undefined && expiresInMs <= 0) return undefined;
  const [rule = '', subject] = field.split(BREAK);
  const { fields, by, reason } = JSON.parse(json) as Stored;
  return {
    rule,
    subject: subject === undefined ? undefined : (JSON.parse(subject) as ExceptedSubject),
    fields,
    expiresInMs,
    version: Number(version),
    counter: counter === NONE ? undefined : counter,
    by,
    reason,
    at: Number(made),
  };
}

/** Reads a record of the history. */
export function readRecord(text: string): RuleChangeRecord {
  const [, version, at, json = '{}'] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? [];
  return { ...(JSON.parse(json) as RuleChange), version: Number(version), at: Number(at) };
}
