import { parseDuration } from '../../lib/contracts/duration.js';
import type { RuleText } from '../../lib/simulate/rule-text.js';
import { fieldNames, textOf } from './rule.js';

/** Returns the decorator with a rule, in the shorter form if the rule has no options. */
export function decoratorOf(rule: RuleText): string {
  const { limit, window, algorithm, ...options } = rule;
  const names = fieldNames(rule).filter((name) => Object.hasOwn(options, name));
  if (window !== undefined && parseDuration(window) !== undefined && names.length === 0) {
    const words = [
      literal(window),
      literal(limit!),
      ...(algorithm === undefined ? [] : [literal(algorithm)]),
    ];
    return `@RateLimit(${words.join(', ')})`;
  }
  const first = { ...(window === undefined ? {} : { window }), limit: limit! };
  const fields = { ...first, ...(algorithm === undefined ? {} : { algorithm }) };
  const all = [...Object.entries(fields), ...names.map((name) => [name, options[name]!] as const)];
  return `@RateLimit({ ${all.map(([name, value]) => `${name}: ${literal(value)}`).join(', ')} })`;
}

/** Returns the command that decides the requests of a log with a rule. */
export function commandOf(rule: RuleText): string {
  return `npx nestjs-redis-rate-limit simulate access.log --rule '${textOf(rule)}'`;
}

function literal(value: string): string {
  const isCount = parseDuration(value) === undefined && /^\d+$/.test(value);
  if (value === 'true' || value === 'false') return value;
  return isCount ? String(Number(value)) : `'${value}'`;
}
