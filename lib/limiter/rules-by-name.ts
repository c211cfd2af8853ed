import type { CostByRule } from '../rules/cost.js';
import type { ReserveOptions } from './options.js';

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
