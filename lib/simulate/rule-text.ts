import { algorithms } from '../algorithms/registry.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import { compileRule } from '../rules/compile-rule.js';
import type { CompiledRule } from '../rules/compiled-rule.js';
import { DEFAULT_ALGORITHM, type AnyRule } from '../rules/rule.js';

const ALLOWED =
  'limit/window, then an algorithm and its options, such as "100/1m" or "100/1m token-bucket burst=20"';

/** Fields of a rule that change nothing in a simulation: one process, nothing enforced, no failing store. */
const WITHOUT_EFFECT = ['mode', 'per', 'onStoreError', 'trial', 'prefetch'];

/** A rule of the command line. */
export interface SimulatedRule {
  /** The rule as it was given. */
  readonly text: string;
  readonly fields: AnyRule;
  readonly compiled: CompiledRule;
}

/**
 * Reads a rule of the command line: `100/1m`, `100/1m gcra`, `100/day fixed-window timeZone=Europe/Berlin`.
 *
 * @throws RateLimitConfigError with all problems of the rule
 */
export function readRule(text: string): SimulatedRule {
  const path = `--rule "${text}"`;
  const [amount = '', ...words] = text.trim().split(/\s+/);
  const [limit, window, ...rest] = amount.split('/');
  if (!limit || !window || rest.length > 0) {
    const fix = /^\d+$/.test(amount) ? `write "${[`${amount}/1m`, ...words].join(' ')}"` : undefined;
    throw new RateLimitConfigError([problem('--rule', text, ALLOWED, fix)]);
  }
  const fields: Record<string, string> = { limit, window };
  const [first] = words;
  if (first !== undefined && !first.includes('=')) fields['algorithm'] = words.shift()!;
  for (const word of words) {
    const [name, value] = splitOption(word);
    if (!name || !value) throw new RateLimitConfigError([`${path}: got "${word}"; allowed: option=value`]);
    if (WITHOUT_EFFECT.includes(name)) {
      throw new RateLimitConfigError([`${path}.${name}: has no effect in a simulation; remove it`]);
    }
    fields[name] = value;
  }
  return compiled(text, fields as unknown as AnyRule, path);
}

/**
 * Compiles a rule for a simulation.
 *
 * @throws RateLimitConfigError with all problems of the rule
 */
export function compiled(text: string, fields: AnyRule, path: string): SimulatedRule {
  const { algorithm = DEFAULT_ALGORITHM } = fields;
  const definition = Object.hasOwn(algorithms, algorithm) ? algorithms[algorithm] : undefined;
  if (definition && 'leases' in definition) {
    throw new RateLimitConfigError([
      `${path}.algorithm: got "${algorithm}", which counts requests at the same time; a log does not record when they ended; allowed: an algorithm with a window`,
    ]);
  }
  return { text, fields, compiled: compileRule(fields, path) };
}

function splitOption(word: string): [name: string, value: string] {
  const at = word.indexOf('=');
  return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)];
}
