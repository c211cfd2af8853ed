import { algorithms, type AlgorithmName } from '../algorithms/registry.js';
import { rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { compileRule } from '../rules/compile-rule.js';
import type { CompiledRule } from '../rules/compiled-rule.js';
import { DEFAULT_ALGORITHM, type AnyRule } from '../rules/rule.js';

const ALLOWED =
  'limit/window, then an algorithm and its options, such as "100/1m" or "100/1m token-bucket burst=20"';

/** Fields of a rule that change nothing in a simulation: one process, nothing enforced, no failing store. */
const WITHOUT_EFFECT = ['mode', 'per', 'onStoreError', 'trial', 'alerts', 'prefetch'];

/** The fields of a rule as text. */
export type RuleText = Readonly<Record<string, string>>;

/**
 * Reads a rule of the command line: `100/1m`, `100/1m gcra`, `100/day fixed-window timeZone=Europe/Berlin`.
 *
 * @throws RateLimitConfigError with all problems of the rule
 */
export function readRule(text: string): CompiledRule {
  const path = `--rule "${text}"`;
  const fields = ruleOf(fieldsOf(text, '--rule'));
  const { algorithm = DEFAULT_ALGORITHM } = fields;
  if (hasLeases(algorithm)) {
    rejectConfig(
      `${path}.algorithm: got "${algorithm}", which counts requests at the same time; a log does not record when they ended; allowed: an algorithm with a window`,
    );
  }
  return compileRule(fields, path);
}

/**
 * Reads the fields of a rule. They are not checked; a rule of an algorithm with leases has no window.
 *
 * @param what the name of the rule in messages
 * @throws RateLimitConfigError if the text does not have the form of a rule
 */
export function fieldsOf(text: string, what: string): RuleText {
  const [amount = '', ...words] = text.trim().split(/\s+/);
  const [limit, window, ...rest] = amount.split('/');
  const [first] = words;
  const algorithm = first !== undefined && !first.includes('=') ? words.shift()! : undefined;
  if (!limit || rest.length > 0 || !(hasLeases(algorithm) || window)) {
    const isComplete = algorithm === undefined || Object.hasOwn(algorithms, algorithm);
    const fix =
      isComplete && /^\d+$/.test(amount)
        ? `write "${text.trim().replace(amount, `${amount}/1m`)}"`
        : undefined;
    rejectValue(what, text, ALLOWED, fix);
  }
  const fields: Record<string, string> = { limit };
  if (window) fields['window'] = window;
  if (algorithm !== undefined) fields['algorithm'] = algorithm;
  for (const word of words) {
    const [, name, value] = /^([^=]+)=(.+)$/s.exec(word) ?? [];
    const path = `${what} "${text}"`;
    if (!name || !value) rejectConfig(`${path}: got "${word}"; allowed: option=value`);
    if (name === 'share') rejectConfig(`${path}.share: cannot be simulated; remove it`);
    if (WITHOUT_EFFECT.includes(name)) {
      rejectConfig(`${path}.${name}: has no effect in a simulation; remove it`);
    }
    fields[name] = value;
  }
  return fields;
}

/** Returns the rule with these fields. Flags are the only ones that a rule does not read from text. */
export function ruleOf(fields: RuleText): AnyRule {
  const flags: Readonly<Record<string, boolean>> = { true: true, false: false };
  const read = Object.entries(fields).map(
    ([name, value]) => [name, Object.hasOwn(flags, value) ? flags[value] : value] as const,
  );
  return Object.fromEntries(read) as unknown as AnyRule;
}

function hasLeases(algorithm: string | undefined): boolean {
  if (algorithm === undefined || !Object.hasOwn(algorithms, algorithm)) return false;
  return 'leases' in algorithms[algorithm as AlgorithmName];
}
