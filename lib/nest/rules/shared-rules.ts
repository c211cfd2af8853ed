import { isDeepStrictEqual } from 'node:util';
import { parseDuration } from '../../contracts/duration.js';
import { shown } from '../../contracts/shown.js';
import { DEFAULT_ALGORITHM } from '../../rules/rule.js';
import { countBySameSubject } from './by.js';
import { SHARED_FIELDS, type RuleFields } from './rule-layers.js';

/** The values of unset fields that have a default. */
const DEFAULTS: RuleFields = {
  algorithm: DEFAULT_ALGORITHM,
  onMissingSubject: 'ip',
  mode: 'enforce',
  per: 'cluster',
  ipv6Prefix: 64,
};

const FREE: readonly string[] = [...SHARED_FIELDS, 'name', 'scope'];

interface Place {
  readonly fields: RuleFields;
  readonly owner: string;
}

/** Compares the targets of each shared rule, since they use one counter with one window and algorithm. */
export class SharedRules {
  private readonly first = new Map<string, Place>();

  /** Adds a target of a rule if the rule is shared. */
  add(fields: RuleFields, owner: string): void {
    const name = fields['name'] as string;
    if (fields['scope'] === 'shared' && !this.first.has(name)) this.first.set(name, { fields, owner });
  }

  /** Returns the problem of a shared rule on another target, or `undefined`. */
  conflict(fields: RuleFields, owner: string): string | undefined {
    const first = fields['scope'] === 'shared' && this.first.get(fields['name'] as string);
    if (!first) return undefined;
    const names = new Set([...Object.keys(first.fields), ...Object.keys(fields)]);
    const field = [...names].find((each) => !FREE.includes(each) && !isSame(each, first.fields, fields));
    if (field === undefined) return undefined;
    return (
      `rule "${String(fields['name'])}" of ${owner}: ${field} is ${shown(fields[field])}, and ` +
      `${shown(first.fields[field])} of ${first.owner}, but a shared rule has one counter; ` +
      `allowed to differ: ${SHARED_FIELDS.join(', ')}, or any field with scope: 'route'`
    );
  }
}

function isSame(field: string, one: RuleFields, other: RuleFields): boolean {
  const [a, b] = [one[field] ?? DEFAULTS[field], other[field] ?? DEFAULTS[field]];
  if (field === 'by') return countBySameSubject(a, b);
  const length = parseDuration(a);
  return isDeepStrictEqual(a, b) || (length !== undefined && length === parseDuration(b));
}
