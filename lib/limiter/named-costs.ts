import { didYouMean } from '../contracts/nearest.js';
import { readOptions } from '../contracts/options.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import { costName, type Cost } from '../rules/cost.js';
import type { RuleHit } from '../rules/rule-hit.js';
import { CONSUME_OPTIONS, RESERVE_OPTIONS, type ConsumeOptions, type ReserveOptions } from './options.js';

/**
 * Returns the cost in the options of an operation; `undefined` for that of each rule.
 *
 * @throws RateLimitConfigError if the options are invalid
 */
export function costOf(operation: string, options: ConsumeOptions | undefined): Cost | undefined {
  return options === undefined ? undefined : readOptions(operation, options, CONSUME_OPTIONS).cost;
}

/**
 * Returns the options of `reserve`. With `settles`, a number is the cost of that rule.
 *
 * @throws RateLimitConfigError if the options are invalid
 */
export function reserveOptionsOf(options: ReserveOptions | undefined): ReserveOptions {
  const read = readOptions('reserve', options, RESERVE_OPTIONS);
  const { cost, settles } = read;
  return typeof cost === 'number' && settles !== undefined ? { settles, cost: { [settles]: cost } } : read;
}

/** Returns the names that a cost can use, without those of trial limits. */
export function namesOf(hits: readonly RuleHit[]): readonly string[] {
  return [...new Set(hits.map(({ rule }) => costName(rule)))];
}

/** @throws RateLimitConfigError if a name is not that of a rule of the operation */
export function checkNames(operation: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const allowed = quoted(known) + didYouMean(unknown, known);
  throw new RateLimitConfigError([problem(`a rule name in the options of ${operation}`, unknown, allowed)]);
}

/**
 * Checks that it is known which rules a settlement concerns.
 *
 * @throws RateLimitConfigError if several rules are reserved without names
 */
export function checkReserved(names: readonly string[], { cost, settles }: ReserveOptions): void {
  if (settles !== undefined) checkNames('reserve', [settles], names);
  else if (names.length > 1 && typeof cost !== 'object') throw needsNames(names, cost);
}

function needsNames(names: readonly string[], cost = 1): RateLimitConfigError {
  const first = quoted(names.slice(0, 1));
  return new RateLimitConfigError([
    `reserve() of ${quoted(names)} needs to know which rule is settled; ` +
      `write cost by rule name, such as { ${first}: ${cost} }, or settles: ${first}`,
  ]);
}

/** Returns names in quotes, separated by commas. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
