import type { DrawnRule } from './drawn-rule.js';

/**
 * What each algorithm promises, told a second time and as naively as it can be: from the bare list
 * of what was admitted, in integers of any size, and without a line of lib/.
 */
export interface Admitted {
  readonly at: bigint;
  readonly cost: bigint;
}

/** A drawn rule in integers of any size. */
export type Terms = {
  readonly [Field in keyof DrawnRule]: DrawnRule[Field] extends number ? bigint : DrawnRule[Field];
};

/** How many permits may be had at once, given what was admitted so far, oldest first. */
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
