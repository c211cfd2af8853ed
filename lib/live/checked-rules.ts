import { isFields } from '../contracts/fields.js';
import { changeProblem, type SourcedRule, type SourcedRules } from '../contracts/rule-source.js';
import { shown } from '../contracts/shown.js';

/**
 * Returns what a source has loaded. An entry that is too long or nested too deeply is unreadable, and the others apply.
 *
 * @throws Error if the source returned something else, whatever its type states
 */
export function checkedRules(loaded: unknown): SourcedRules {
  if (!isFields(loaded) || !isVersion(loaded['version']) || !Array.isArray(loaded['entries'])) {
    throw new Error('`load` of the source returned no { version, entries: [{ rule, fields }] }');
  }
  const known = new Set<string>();
  const entries = (loaded['entries'] as unknown[]).map((entry) => {
    if (!isFields(entry) || typeof entry['rule'] !== 'string') {
      throw new Error('`load` of the source returned an entry without the name of a rule');
    }
    const readable = readableRule(entry as unknown as SourcedRule);
    const { rule, subject } = readable;
    const of = `rule "${rule}"${subject === undefined ? '' : ` for subject ${JSON.stringify(subject)}`}`;
    if (known.has(of) && readable.unreadable === undefined)
      throw new Error(`\`load\` of the source returned ${of} twice`);
    known.add(of);
    if (!isDuration(entry['expiresInMs'])) {
      throw new Error(`\`load\` of the source returned another expiresInMs than milliseconds for ${of}`);
    }
    return readable;
  });
  return { ...(loaded as unknown as SourcedRules), entries };
}

/** If the subject is too long, the entry has a name that no rule has. */
function readableRule(entry: SourcedRule): SourcedRule {
  const unreadable = changeProblem(entry);
  if (unreadable === undefined) return entry;
  const { rule, subject } = entry;
  const isNamed = changeProblem({ rule, subject, fields: undefined }) === undefined;
  return {
    rule: isNamed ? rule : shown([rule, subject]),
    subject: isNamed ? subject : undefined,
    fields: {},
    unreadable,
  };
}

function isVersion(version: unknown): boolean {
  return typeof version === 'string' || (typeof version === 'number' && !Number.isNaN(version));
}

/** JSON of a database has `null` for what is absent. */
function isDuration(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'number' && !Number.isNaN(value));
}
