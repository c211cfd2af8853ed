import type { OptionCheck } from '../../lib/contracts/options.js';
import { parseDuration } from '../../lib/contracts/duration.js';
import { RULE_FIELDS } from '../../lib/rules/rule-fields.js';
import type { RuleText } from '../../lib/simulate/rule-text.js';
import { definitionOf, fieldNames, tryCompile } from './rule.js';

/** A field of a rule that can be changed: a slider over its values. */
export interface Control {
  readonly name: string;
  /** The values that the rule accepts, from the least to the most; the current one is among them. */
  readonly values: readonly string[];
  /** The current value; `undefined` if the field has its default. */
  readonly value: string | undefined;
  /** The value that has the same effect as none; `undefined` if there is no such value. */
  readonly standard: string | undefined;
  /** Whether the rule needs the field. */
  readonly isRequired: boolean;
}

const DURATIONS = [
  ...['250ms', '500ms', '1s', '2s', '3s', '4s', '5s', '6s', '8s', '10s', '12s', '15s', '20s', '30s'],
  ...['45s', '1m', '90s', '2m'],
];

/** How far a slider reaches beyond twice the limit. */
const MOST_BEYOND = 10;
const LEAST_MOST = 50;

/** Values are tried one by one: a field with more of them gets larger steps. */
const MOST_VALUES = 60;

/** Returns the controls of a rule: the fields that its algorithm has, each with the values that it accepts. */
export function controlsOf(rule: RuleText): readonly Control[] {
  const { options } = definitionOf(rule);
  const checks: Readonly<Record<string, OptionCheck>> = { ...RULE_FIELDS, ...options };
  return fieldNames(rule).flatMap((name) => {
    const { [name]: value, ...others } = rule;
    const isRequired = name === 'limit' || name === 'window';
    const candidates = candidatesOf(checks[name]!, rule, value);
    const values = candidates.filter((each) => typeof tryCompile({ ...rule, [name]: each }) !== 'string');
    if (value !== undefined && !values.includes(value)) values.push(value);
    if (values.length === 0) return []; // The other options exclude it.
    const standard = isRequired
      ? undefined
      : values.find((each) => isSame(others, { ...others, [name]: each }));
    return [{ name, values, value, standard, isRequired }];
  });
}

/** Returns the values to try for a field, by what its check accepts: durations, integers, flags or words. */
function candidatesOf(check: OptionCheck, rule: RuleText, value: string | undefined): readonly string[] {
  if (check.accepts('1s')) return withValue(DURATIONS, value, (each) => parseDuration(each) ?? 0);
  if (check.accepts(1)) {
    const most =
      Math.max(LEAST_MOST, 2 * Number(rule['limit']) + MOST_BEYOND, Number(value ?? 0)) || LEAST_MOST;
    const step = Math.ceil(most / MOST_VALUES / 5) * 5;
    const counts = Array.from({ length: Math.min(most, LEAST_MOST) + 1 }, (_, count) => count);
    for (let count = LEAST_MOST + step; count <= most; count += step) counts.push(count);
    return withValue(counts.map(String), value, Number);
  }
  if (check.accepts(true)) return ['false', 'true'];
  const words = Array.from(check.allowed.matchAll(/"([\w-]+)"/g), ([, word = '']) => word);
  return words.filter((word) => check.accepts(word));
}

function withValue(
  values: readonly string[],
  value: string | undefined,
  sizeOf: (value: string) => number,
): readonly string[] {
  if (value === undefined || values.includes(value)) return values;
  return [...values, value].toSorted((one, other) => sizeOf(one) - sizeOf(other));
}

/** Whether two rules decide alike. */
function isSame(one: RuleText, other: RuleText): boolean {
  const [first, second] = [tryCompile(one), tryCompile(other)].map((compiled) => {
    if (typeof compiled === 'string') return undefined;
    const { algorithm, parameters, cost, block } = compiled;
    return JSON.stringify([algorithm.name, parameters, cost, block]);
  });
  return first !== undefined && first === second;
}
