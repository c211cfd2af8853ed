import type { SourcedRule } from '../../../contracts/rule-source.js';
import { readRule } from './rule-text.js';

/** Why rules are lost, by the codes of rule-version.lua. */
export const LOSSES: Readonly<Record<string, string>> = {
  absent: 'Redis has no version of live rules any more',
  anew: 'the live rules in Redis were written anew, into an empty source',
  older: 'Redis has an older version of the live rules',
  other: 'Redis has other live rules with the same version',
  changed: 'the live rules in Redis are not those that were written with their version',
};

/** A version, and the fields and values of its rules in turn. */
export interface VersionParts {
  readonly version: string;
  readonly parts: readonly string[];
}

export const CONFIRM = 'confirm it with rules.restore() or rules.accept() before other changes';

export function keptParts(text: string): VersionParts {
  const [version = '', json = '[]'] = text.split('\n');
  return { version, parts: JSON.parse(json) as string[] };
}

/** Reads rules, the oldest first. */
export function rulesOf(parts: readonly string[], now: number): readonly SourcedRule[] {
  const fields = parts.filter((_part, index) => index % 2 === 0);
  const rules = fields.flatMap((field, index) => readRule(field, parts[2 * index + 1]!, now) ?? []);
  return rules.sort((one, other) => (one.version ?? 0) - (other.version ?? 0));
}
