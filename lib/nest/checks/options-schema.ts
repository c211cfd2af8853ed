import { isFields } from '../../contracts/fields.js';
import { RateLimitConfigError, rejectValue } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { Keys } from '../../rules/keys.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { DeclaredRules } from '../rules/declared-rules.js';
import { overridesFromEnv } from '../rules/overrides.js';
import { RuleTable } from '../rules/rule-table.js';

/** What is wrong with a value. */
interface Issue {
  /** A sentence, without the path. */
  readonly message: string;
  /** Where the value is; empty if the sentence names it. */
  readonly path: readonly string[];
}

/** Maximum number of issues: each looks its path up in the value. */
const MOST_ISSUES = 100;

/** The value as it was given, or what is wrong with it. */
type Validated<Value> =
  { readonly value: Value; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** A Standard Schema (version 1), as https://standardschema.dev defines it. */
export interface StandardSchema<Value> {
  /** What validators read: `validate` resolves to the value, or to `issues`, each a message and the path of a value. */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Value; readonly output: Value } | undefined;
    readonly validate: (value: unknown) => Promise<Validated<Value>>;
  };
}

/** Compiles the rules of options, as the start of an application does: those that a value is, or that its variables override. */
export async function validated<Value>(
  value: Value,
  base?: RateLimitModuleOptions,
): Promise<Validated<Value>> {
  try {
    const declared = await DeclaredRules.of(base ? overridden(base, value) : (value as object));
    const table = new RuleTable(declared);
    const keys = new Keys('', Date.now);
    table.keys = { cacheLimit: keys.cacheLimit, keyed: (rule) => keys.keyed(rule) };
    for (const rule of declared.optionRules()) table.compile(rule, 'the module');
    declared.throwIfWrong();
    return { value };
  } catch (error) {
    if (error instanceof RateLimitConfigError)
      return { issues: error.problems.slice(0, MOST_ISSUES).map((each) => issueOf(each, value)) };
    const reason = error instanceof Error ? error.message : error;
    return { issues: [{ message: `cannot be read: ${shown(reason)}`, path: [] }] };
  }
}

function overridden(options: RateLimitModuleOptions, variables: unknown): RateLimitModuleOptions {
  if (!isFields(variables)) rejectValue('variables', variables, 'an object with variables');
  const read = overridesFromEnv({ get: (name) => variables[name] }, Object.keys(variables));
  return { ...options, overrides: { ...options.overrides, ...read } };
}

/** Divides a sentence into the path of a value that it begins with, and the rest. */
function issueOf(problem: string, value: unknown, path: readonly string[] = []): Issue {
  const fields = isFields(value) ? value : {};
  const [missing = ''] = /^\w+(?=: missing)/.exec(problem) ?? [];
  const isNamed = (each: string): boolean => /^(\.|: )/.test(problem.slice(each.length));
  const names = [...Object.keys(fields), missing].sort((one, other) => other.length - one.length);
  const name = names.find((each) => problem.startsWith(each) && isNamed(each));
  if (name === undefined) return { message: problem, path };
  const [rest, inner] = [problem.slice(name.length + 1), [...path, name]];
  return rest.startsWith(' ') ? { message: rest.slice(1), path: inner } : issueOf(rest, fields[name], inner);
}
