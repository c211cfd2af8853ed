import { didYouMean, quoted, rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import {
  type RuleHit,
  type CompiledRule,
  costName,
  type Cost,
  type CostByRule,
} from '../rules/compiled-rule.js';
import { isFields } from '../contracts/fields.js';
import {
  converted,
  durationOption,
  FLAG,
  listOf,
  readCount,
  readOptions,
  rejection,
  type OptionCheck,
} from '../contracts/options.js';
import { RULE_FIELDS } from '../rules/rule-fields.js';
import type { ConsumeOptions, RefundOptions, ReserveOptions, WaitOptions } from './rate-limiter.options.js';

/** The operations of a limiter that take rules. */
export type Operation = 'consume' | 'reserve' | 'hold' | 'acquire' | 'peek' | 'block' | 'unblock' | 'reset';

/** Receives mistakes of programs. */
export interface MistakeLog {
  /** Reports a mistake as full sentences, once for each code. */
  readonly warn: (
    code: 'RL_PERMIT_DROPPED' | 'RL_RESERVATION_DROPPED' | 'RL_SETTLED_IN_PART',
    message: string,
  ) => void;
}

/** The rules that an operation supports. */
interface Kind {
  /** Completes the message "consume() needs …". */
  readonly needs: string;
  /** Completes the message "…; use …". */
  readonly instead: string;
  readonly accepts: (rule: CompiledRule) => boolean;
}

const CHARGED: Kind = {
  needs: 'a rule of an algorithm other than concurrency',
  instead: 'hold() instead',
  accepts: ({ algorithm }) => !algorithm.leases,
};

const KINDS: Partial<Record<Operation | 'reserve() with maxWait', Kind>> = {
  consume: CHARGED,
  hold: {
    needs: 'a concurrency rule',
    instead: 'consume() instead',
    accepts: ({ algorithm }) => algorithm.leases === true,
  },
  acquire: { ...CHARGED, instead: 'hold() with maxWait instead' },
  'reserve() with maxWait': {
    needs: 'a rule whose algorithm can delay requests',
    instead: 'gcra, token-bucket or leaky-bucket',
    accepts: ({ queues }) => queues,
  },
};

/**
 * Rejects rules that an operation does not support. The types reject them as well, but a rule may be untyped.
 *
 * @throws RateLimitConfigError if the operation does not support the algorithm of a rule
 */
export function checkOperation(operation: keyof typeof KINDS, hits: readonly RuleHit[]): void {
  const kind = KINDS[operation];
  const wrong = kind && hits.find(({ rule }) => !kind.accepts(rule));
  if (!wrong) return;
  const { name, algorithm } = wrong.rule;
  const call = operation.includes('(') ? operation : `${operation}()`;
  const used = `rule "${name}" uses ${algorithm.name}`;
  rejectConfig(`${call} needs ${kind.needs}, but ${used}; use ${kind.instead}`);
}

/** The check of permits, or of permits by rule name. */
export const COSTS: OptionCheck = {
  allowed: `${RULE_FIELDS.cost.allowed}, or an object with such integers by rule name`,
  accepts: (value) =>
    isNamed(value) ? Object.values(value).every(isCostOrUnset) : RULE_FIELDS.cost.accepts(value),
  read: (value) => (isNamed(value) ? converted({ ...value }, readCount) : readCount(value)),
  problems: (value, path) =>
    isNamed(value)
      ? Object.entries(value).flatMap(([name, cost]) =>
          isCostOrUnset(cost) ? [] : [rejection(`${path}.${name}`, cost, RULE_FIELDS.cost)],
        )
      : [rejection(path, value, COSTS)],
};

/** The checks of the options of `consume` and `peek`. */
const CONSUME_OPTIONS = { cost: COSTS } satisfies Record<keyof ConsumeOptions, OptionCheck>;

/** Whether a value is an object that names at least one rule. */
function isNamed(value: unknown): value is Readonly<Record<string, unknown>> {
  return isFields(value) && Object.keys(value).length > 0;
}

function isCostOrUnset(value: unknown): boolean {
  return value === undefined || RULE_FIELDS.cost.accepts(value);
}

/** The check of the longest wait of an operation. */
const MAX_WAIT: OptionCheck = {
  ...durationOption,
  allowed: `"0s", or ${durationOption.allowed}`,
  accepts: (value) => value === '0s' || value === '0ms' || durationOption.accepts(value),
};

/** The checks of the options of `reserve`. */
export const RESERVE_OPTIONS = {
  cost: COSTS,
  settles: { ...RULE_FIELDS.name, allowed: 'the name of one of the rules' },
  maxWait: MAX_WAIT,
} satisfies Record<keyof ReserveOptions, OptionCheck>;

/** The checks of the options of `acquire` and `hold`. */
export const WAIT_OPTIONS = {
  cost: RULE_FIELDS.cost,
  maxWait: MAX_WAIT,
  signal: {
    allowed: 'an AbortSignal',
    accepts: (value) => typeof (value as AbortSignal | null)?.throwIfAborted === 'function',
  },
} satisfies Record<keyof WaitOptions, OptionCheck>;

/** The checks of the options of `refund`. */
export const REFUND_OPTIONS = {
  onlyLast: FLAG,
  rules: listOf('names of rules', (name) => typeof name === 'string'),
} satisfies Record<keyof RefundOptions, OptionCheck>;

/**
 * Returns the cost in the options of an operation; `undefined` for that of each rule.
 *
 * @throws RateLimitConfigError if the options are invalid
 */
export function costOf(operation: string, options: ConsumeOptions | undefined): Cost | undefined {
  return options === undefined ? undefined : readOptions(operation, options, CONSUME_OPTIONS).cost;
}

/** Returns the names that a cost can use, without those of trial limits. */
export function namesOf(hits: readonly RuleHit[]): readonly string[] {
  const names: string[] = [];
  for (const { rule } of hits) if (!names.includes(costName(rule))) names.push(costName(rule));
  return names;
}

/** @throws RateLimitConfigError if a name is not that of a rule of the operation */
export function checkNames(operation: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const path = `a rule name in the options of ${operation}`;
  rejectValue(path, unknown, quoted(known), didYouMean(unknown, known));
}

/**
 * Checks that it is known which rules a settlement concerns.
 *
 * @throws RateLimitConfigError if several rules are reserved without names
 */
export function checkReserved(names: readonly string[], cost: Cost = 1, settles?: string): void {
  if (settles !== undefined) {
    checkNames('reserve', [settles], names);
    return;
  }
  if (typeof cost === 'object' || names.length === 1) return;
  const first = quoted(names.slice(0, 1));
  rejectConfig(
    `reserve() of ${quoted(names)} needs to know which rule is settled; ` +
      `write cost by rule name, such as { ${first}: ${cost} }, or settles: ${first}`,
  );
}

/** A rule, or several rules that are decided together, all or nothing. */
export type Rules<Each> = Each | readonly Each[];

/**
 * The options of `reserve` for the name of a rule, or the names of a list. A list of several names needs `cost` by rule
 * name or `settles`; where no names are written in place, this is checked at run time.
 */
export type ReserveArguments<Name extends string, Listed extends string, Settled> =
  true extends IsUnion<Listed>
    ? [
        options: [Settled] extends [never]
          ? { readonly cost: CostByRule<NotInferred<Listed>> }
          : ReserveOptions<NotInferred<Listed>, Settled> & { readonly settles: Settled },
      ]
    : [options?: ReserveOptions<NotInferred<RuleNames<Name, Listed>>, Settled>];

/** The argument of `settle`: permits by rule name, or a number if it is known which rule it concerns. */
export type SettledCost<Name extends string, Listed extends string, Settled> =
  | CostByRule<RuleNames<Name, Listed>>
  | (true extends IsUnion<Listed> ? ([Settled] extends [never] ? never : number) : number);

/** The names of the rules; `string` if none is written in place. */
export type RuleNames<Name extends string, Listed extends string> = [Listed] extends [never]
  ? [Name] extends [never]
    ? string
    : Name
  : Listed;

type IsUnion<Type, Whole = Type> = Type extends unknown ? ([Whole] extends [Type] ? false : true) : never;

/** A type from which TypeScript infers nothing, as `NoInfer` of TypeScript 5.4. */
type NotInferred<Type> = [Type][Type extends unknown ? 0 : never];
