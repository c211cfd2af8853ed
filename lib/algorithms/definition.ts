import type { Algorithm, Denied, Next, Patience, Receipt, Step } from '../contracts/algorithm.js';
import type { CalendarWindow } from './calendar-length.js';

/** What an option may be, in words and as a test. */
export interface OptionCheck {
  /** Ends the sentence "…; allowed: ". */
  readonly allowed: string;
  readonly accepts: (value: unknown) => boolean;
  /** Reads a value that may be given as text, before it is checked. */
  readonly read?: (value: unknown) => unknown;
  /** What to write in the place of a wrong value, if that can be said: ends the sentence "got 60: ". */
  readonly fix?: (value: unknown) => string | undefined;
}

/** The part of a rule that every algorithm has. */
export interface Quota {
  /** Permits, an integer from 0. */
  readonly limit: number;
  /** Microseconds, an integer above 0 (0 for an algorithm with leases); of a calendar's window the nominal length. */
  readonly window: number;
  /** The calendar's window, if it is one. */
  readonly calendar?: CalendarWindow | undefined;
  /** Permits that a hit takes unless it says otherwise. */
  readonly cost?: number;
}

/** The numbers that script and twin work with: integers, windows in microseconds. */
export type Numbers<Parameter extends string> = Readonly<Record<Parameter, number>>;

/** A charge of permits that were taken together. */
export interface TakenAhead {
  readonly permits: number;
  /** When they were charged, in microseconds since the epoch. */
  readonly now: number;
  /** In how many microseconds from then on the key is back at its full limit. */
  readonly resetAfter: number;
}

/** What a rule may say to an algorithm, and the numbers that it becomes: what `<name>-options.ts` holds. */
export interface Terms<Options extends object, Parameter extends string> {
  /** The names of the numbers, in the order in which the Lua functions take them. */
  readonly parameters: readonly Parameter[];
  /** The options that belong to it, each with what it may be. */
  readonly options: { readonly [Name in keyof Required<Options>]: OptionCheck };
  /**
   * Says what is wrong with options that are fine one by one, `undefined` if nothing is. Not asked for a
   * limit of 0.
   */
  check?(rule: Quota & Options): string | undefined;
  /** The most permits that can be had at once; absent if that is the limit. */
  capacity?(parameters: Numbers<Parameter>): number;
  /**
   * The options of one of several processes that share the rule: together they allow no more than the rule
   * with the whole. Absent if no option besides the limit counts permits.
   */
  share?(rule: Quota & Options, processes: number): Partial<Options>;
  /** The numbers of a rule. */
  compile(rule: Quota & Options): Numbers<Parameter>;
  /**
   * The same for numbers that depend on when they are asked for, as a function of the instant in
   * microseconds; absent if they do not.
   */
  compileAt?(rule: Quota & Options): (now: number) => Numbers<Parameter>;
}

/** An algorithm with its own options: what its folder exports and the registry lists. */
export interface AlgorithmDefinition<Options extends object, State, Parameter extends string>
  extends Algorithm<State>, Terms<Options, Parameter> {
  readonly parameters: readonly Parameter[];
  /** The variant that serves a rule with these options, `undefined` if this algorithm does itself. */
  resolve?(rule: Quota & Options): Variant<Options> | undefined;
  step(
    state: State | undefined,
    now: number,
    cost: number,
    parameters: Numbers<Parameter>,
    patience?: Patience,
    lease?: string,
  ): Step<State>;
  refund(
    state: State,
    now: number,
    cost: number,
    parameters: Numbers<Parameter>,
    receipt: Receipt,
    onlyLast: boolean,
  ): Next<State> | undefined;
  renew?(state: State, now: number, parameters: Numbers<Parameter>, lease: string): Next<State> | undefined;
  /**
   * By when the nth (from 1) of some permits that were taken ahead must be used, in microseconds since the
   * epoch, to be no more than if it were charged only then. Absent: they cannot be taken ahead.
   */
  spendBy?(nth: number, taken: TakenAhead, parameters: Numbers<Parameter>): number;
  /** `false` where it estimates what was used, so that some window may hold more than the limit. */
  readonly exact?: false;
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

/** What a rule may say that a variant serves; which options there are, the algorithm that it names says. */
export type VariantTerms<Options extends object, Parameter extends string> = Omit<
  Terms<Options, Parameter>,
  'options'
>;

/** The verdict of a limit of 0, which denies everything. */
export const NEVER: Denied = { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0, delay: 0 };
