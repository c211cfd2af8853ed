import type { Algorithm, Step } from '../contracts/algorithm.js';

/** What an option may be, in words and as a test. */
export interface OptionCheck {
  readonly allowed: string;
  accepts(value: unknown): boolean;
}

/** The part of a rule that every algorithm has. */
export interface Quota {
  /** Permits, an integer from 0. */
  readonly limit: number;
  /** Microseconds, an integer above 0. */
  readonly window: number;
}

/** An algorithm with its own options: what its folder exports and the registry lists. */
export interface AlgorithmDefinition<
  Options extends object,
  State,
  Parameter extends string,
> extends Algorithm<State> {
  readonly parameters: readonly Parameter[];
  /** The options that belong to it, each with what it may be. */
  readonly options: { readonly [Name in keyof Required<Options>]: OptionCheck };
  /** Says what is wrong with options that are fine one by one, `undefined` if nothing is. */
  check?(rule: Quota & Options): string | undefined;
  /** The numbers that the script and the twin work with. */
  compile(rule: Quota & Options): Readonly<Record<Parameter, number>>;
  step(
    state: State | undefined,
    now: number,
    cost: number,
    parameters: Readonly<Record<Parameter, number>>,
  ): Step<State>;
}
