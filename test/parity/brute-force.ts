import type { DrawnRule } from './drawn-rule.js';

/**
 * Independent models of the algorithms, as simple as possible: they decide from the list of allowed requests, with
 * BigInt, and without any code of lib/.
 */
export interface Admitted {
  readonly at: bigint;
  readonly cost: bigint;
}

/** A random rule with BigInt fields. */
export type Terms = {
  readonly [Field in keyof DrawnRule]: DrawnRule[Field] extends number ? bigint : DrawnRule[Field];
};

/** Returns how many permits are available, given the allowed requests, oldest first. */
export type Model = (admitted: readonly Admitted[], now: bigint, terms: Terms) => bigint;

export function termsOf(rule: DrawnRule): Terms {
  const fields = Object.entries(rule).map(([name, value]: [string, unknown]) => {
    return [name, typeof value === 'number' ? BigInt(value) : value];
  });
  return Object.fromEntries(fields) as Terms;
}

export function sum(admitted: readonly Admitted[]): bigint {
  return admitted.reduce((total, { cost }) => total + cost, 0n);
}

export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function atLeastZero(value: bigint): bigint {
  return larger(value, 0n);
}
