import type { Algorithm, Denied, Next, Patience, Receipt, Step } from '../contracts/algorithm.js';
import type { CalendarWindow } from './calendar-length.js';

/** What an option may be, in words and as a test. */
export interface OptionCheck {
  readonly allowed: string;
  readonly accepts: (value: unknown) => boolean;
}

/** The part of a rule that every algorithm has. */
export interface Quota {
  /** Permits, an integer from 0. */
  readonly limit: number;
  /** Microseconds, an integer above 0; of a calendar's window the nominal length. */
  readonly window: number;
  /** The calendar's window, if it is one. */
  readonly calendar?: CalendarWindow | undefined;
  /** Permits that a hit takes unless it says otherwise. */
  readonly cost?: number;
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
  /** The most permits that can be had at once; absent if that is the limit. */
  capacity?(parameters: Readonly<Record<Parameter, number>>): number;
  /** The numbers that the script and the twin work with. */
  compile(rule: Quota & Options): Readonly<Record<Parameter, number>>;
  /**
   * The same for numbers that depend on when they are asked for, as a function of the instant in
   * microseconds; absent if they do not.
   */
  compileAt?(rule: Quota & Options): (now: number) => Readonly<Record<Parameter, number>>;
  /** The variant that serves a rule with these options, `undefined` if this algorithm does itself. */
  resolve?(rule: Quota & Options): Variant<Options> | undefined;
  step(
    state: State | undefined,
    now: number,
    cost: number,
    parameters: Readonly<Record<Parameter, number>>,
    patience?: Patience,
    lease?: string,
  ): Step<State>;
  refund(
    state: State,
    now: number,
    cost: number,
    parameters: Readonly<Record<Parameter, number>>,
    receipt: Receipt,
    onlyLast: boolean,
  ): Next<State> | undefined;
  renew?(
    state: State,
    now: number,
    parameters: Readonly<Record<Parameter, number>>,
    lease: string,
  ): Next<State> | undefined;
  /** Whether it can say how long a hit has to wait for its place. */
  readonly queues?: boolean;
  /** Whether its window may be one of the calendar. */
  readonly calendar?: boolean;
}

/**
 * What serves some rules in the place of the algorithm that they name: one with a name, a state and a
 * script of its own, and the options of the other.
 */
export type Variant<Options extends object, State = unknown, Parameter extends string = string> = Omit<
  AlgorithmDefinition<Options, State, Parameter>,
  'options' | 'resolve'
>;

/** The verdict of a limit of 0, which denies everything. */
export const NEVER: Denied = { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0, delay: 0 };
