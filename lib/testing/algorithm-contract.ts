import { deepStrictEqual, ok } from 'node:assert';
import type { Algorithm, Parameters } from '../contracts/algorithm.js';
import { draws } from './draws.js';

/** What the contract of an algorithm needs. */
export interface AlgorithmContract {
  /** The algorithm, without leases. */
  readonly algorithm: Algorithm;
  /** Parameters of a rule that allows a few requests per minute. */
  readonly parameters: Parameters;
  /** `it` or `test` of Jest, Vitest or `node:test`. */
  readonly it: (title: string, test: () => void) => unknown;
}

/** One request: the state before, and the decision. */
interface Decided {
  readonly state: unknown;
  readonly now: number;
  readonly cost: number;
}

const STEPS = 2000;
const START = Date.UTC(2030, 0, 1, 12) * 1000;
const LONGEST_PAUSE = 20e6;

/**
 * Defines the tests that every algorithm passes: `retryAfter` and `expiresAfter` are honest, a cost of 0 fits, and all
 * numbers are integers.
 *
 * @example
 * algorithmContract({ it, algorithm: adaptive, parameters: { limit: 5, window: 60_000_000 } });
 */
export function algorithmContract({ algorithm, parameters, it }: AlgorithmContract): void {
  const step = (state: unknown, now: number, cost: number) => algorithm.step(state, now, cost, parameters);
  const each = (check: (decided: Decided) => void) => () => timelineOf(step).forEach(check);

  it(
    `${algorithm.name} allows a denied request at the instant that retryAfter reports, and not before`,
    each(({ state, now, cost }) => {
      const { allowed, retryAfter } = step(state, now, cost);
      if (allowed || retryAfter === null) return;
      ok(step(state, now + retryAfter, cost).allowed);
      ok(!step(state, now + retryAfter - 1, cost).allowed);
    }),
  );

  it(
    `${algorithm.name} decides by a state that has expired as by none`,
    each(({ state, now, cost }) => {
      const charged = step(state, now, cost);
      if (!charged.allowed) return;
      const later = now + charged.expiresAfter;
      deepStrictEqual(resultOf(step(charged.state, later, 1)), resultOf(step(undefined, later, 1)));
    }),
  );

  it(
    `${algorithm.name} allows a cost of 0 and takes no permit for it`,
    each(({ state, now }) => {
      const first = step(state, now, 0);
      ok(first.allowed);
      deepStrictEqual(resultOf(step(first.state, now, 0)), resultOf(first));
    }),
  );

  it(
    `${algorithm.name} returns integers from 0`,
    each(({ state, now, cost }) => {
      for (const value of Object.values(resultOf(step(state, now, cost))))
        ok(value === null || typeof value === 'boolean' || (Number.isSafeInteger(value) && value >= 0));
    }),
  );
}

function timelineOf(
  step: (state: unknown, now: number, cost: number) => ReturnType<Algorithm['step']>,
): Decided[] {
  const draw = draws();
  let [state, now]: [unknown, number] = [undefined, START];
  return Array.from({ length: STEPS }, () => {
    now += draw(LONGEST_PAUSE);
    const decided = { state, now, cost: 1 + draw(3) };
    const result = step(state, now, decided.cost);
    if (result.allowed) state = result.state;
    return decided;
  });
}

function resultOf({ allowed, remaining, retryAfter, resetAfter, delay }: ReturnType<Algorithm['step']>) {
  return { allowed, remaining, retryAfter, resetAfter, delay };
}
