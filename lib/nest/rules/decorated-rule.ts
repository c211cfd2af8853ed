import type { CalendarWindow } from '../../algorithms/definition.js';
import type { AlgorithmName } from '../../algorithms/registry.js';
import type { Duration } from '../../contracts/duration.js';
import type {
  AnyOptions,
  CalendarName,
  LeaseName,
  LoneOption,
  Named,
  NotOfLeases,
  OptionsOf,
} from '../../rules/rule.js';
import type { RateLimitModuleExtras, RateLimitModuleOptions } from '../rate-limit.options.js';
import type { RouteRule, RouteRuleFields } from './route-rule.js';

/** The fields of any rule and the options of any algorithm. {@link CheckedRule} states which of them can be combined. */
export type DecoratedRule = RouteRuleFields &
  Named &
  AnyOptions & {
    /**
     * The algorithm.
     * @default 'sliding-window-log'
     */
    readonly algorithm?: AlgorithmName;
  };

/**
 * A rule in which the type of every invalid field is a sentence, so that the compiler's error is that sentence. An
 * optional field comes from a declared type, and is checked at start. The name of a rule is not checked.
 */
export type CheckedRule<Given, None = NoRule> = Given extends string
  ? Given
  : keyof Given extends FieldsOf[KeyOf<AlgorithmOf<Given>>]
    ? Given extends Unquestioned
      ? RouteRule
      : CheckedFields<Given>
    : object extends Given
      ? RouteRule | CheckedFields<Given>
      : [keyof Given & keyof DecoratedRule] extends [never]
        ? None
        : keyof Given extends keyof DecoratedRule
          ? CheckedFields<Given>
          : Fields<AlgorithmOf<Given>>;

/** The other fields of a rule whose window, limit and algorithm are positional arguments. */
type PositionalFields = Omit<RouteRuleFields, 'window' | 'limit'> & Named;

/** The arguments after a window. */
type Positional<Third> = [
  limit: number,
  algorithm?: Third extends object
    ? 'did you mean @RateLimit({ window, limit, ... })? The third argument is the algorithm'
    : Third extends AlgorithmName
      ? Third
      : AlgorithmName,
  fields?: PositionalFields,
];

/** The arguments after the name of a rule. Three follow only a window. */
type Overriding<Second> = [
  fields?: CheckedRule<Second, Second extends object ? DecoratedRule : NoRule>,
  ...more: NoRule[],
];

/**
 * The arguments after the first one of `@RateLimit`: after a window, the limit and others; after a rule's
 * name, the fields to override; after a rule, none. Without parentheses, the error is about the first argument.
 */
export type RateLimitArguments<Given, Second, Third> = Given extends string
  ? string extends Given
    ? Positional<Third> | Overriding<Second>
    : Given extends Duration
      ? Positional<Third>
      : Overriding<Second>
  : CheckedRule<Given> extends string
    ? [method?: PropertyKey, descriptor?: object]
    : [];

/** The fields among which the compiler suggests one for a misspelled field. */
type Fields<Algorithm> = Algorithm extends AlgorithmName
  ? RouteRuleFields & Named & OptionsOf<Algorithm> & { readonly algorithm: Algorithm }
  : DecoratedRule;

/** The sentence about a list of rules, a number, or the class or the method of a decorator without parentheses. */
export type NoRule = "did you mean @RateLimit('1m', 100)? A decorator takes one rule, in parentheses";

/** The values that need no further check. */
interface Unquestioned {
  readonly limit?: unknown;
  readonly window?: Duration;
  readonly block?: Duration | 'manual';
  readonly maxWait?: Duration;
}

type CommonField = Exclude<keyof DecoratedRule, keyof AnyOptions | 'alerts'>;

/** The fields that can be combined, by the algorithm. */
type FieldsOf = { readonly none: Exclude<CommonField, 'algorithm'> } & {
  readonly [Name in AlgorithmName]:
    | Exclude<keyof OptionsOf<Name>, LoneOption<Name>>
    | Exclude<CommonField, Name extends LeaseName ? NotOfLeases : never>;
};

/** With the documentation of the fields, which editors show. */
type CheckedFields<Given> = Documented<
  keyof Given,
  AlgorithmOf<Given> extends infer Name extends AlgorithmName ? OptionsOf<Name> : unknown
> & {
  // The compiler does not know the type of a field beside a function whose parameters have no types, nor of the function.
  readonly window?: Given extends { readonly window: infer Window }
    ? unknown extends Window
      ? RouteRuleFields['window']
      : unknown
    : unknown;
} & {
  readonly [Field in keyof Given]: object extends Pick<Given, Field>
    ? Given[Field]
    : CheckedField<Given, Field, AlgorithmOf<Given>>;
};

type Documented<Field, Options> = Partial<Pick<Docs<Options>, Field & keyof Docs<Options>>>;

type Docs<Options> = { readonly [Field in keyof (DecoratedRule & Options)]?: unknown };

/** Not `undefined`, which without `strictNullChecks` extends every name. */
type Unset = false;

type AlgorithmOf<Given> = Given extends { readonly algorithm: infer Name } ? Name : Unset;

/** The key in `FieldsOf`. */
type KeyOf<Algorithm> = Algorithm extends AlgorithmName ? Algorithm : 'none';

type CheckedField<Given, Field extends keyof Given, Algorithm> = Field extends keyof AnyOptions
  ? CheckedOption<Given, Field, Algorithm>
  : [Algorithm, Field] extends [LeaseName, NotOfLeases]
    ? `${Algorithm & string} has no ${Field & string}`
    : Field extends 'window' | 'block' | 'maxWait'
      ? CheckedDuration<Given[Field], WordsOf<Algorithm>[Field]>
      : Field extends 'algorithm'
        ? KnownName<Given[Field]>
        : Field extends keyof DecoratedRule
          ? Field extends 'alerts'
            ? CheckedAlerts<Given>
            : DecoratedRule[Field]
          : `a rule has no field ${Field & string}`;

/** The words beside durations. */
interface WordsOf<Algorithm> {
  readonly window: Algorithm extends CalendarName ? CalendarWindow : never;
  readonly block: 'manual';
  readonly maxWait: never;
}

type CheckedAlerts<Given> = Given extends { readonly share: unknown } | { readonly prefetch: unknown }
  ? 'a rule with share or prefetch has no alerts'
  : readonly number[];

type CheckedOption<Given, Field extends keyof Given, Algorithm> = Algorithm extends AlgorithmName
  ? Field extends keyof OptionsOf<Algorithm>
    ? CheckedTogether<OptionsOf<Algorithm>, Field, Extract<keyof Given, LoneOption<Algorithm>>>
    : `${Algorithm} has no option ${Field & string}`
  : string extends Algorithm
    ? Given[Field]
    : `${Field & string} is an option of another algorithm: set algorithm as well`;

type CheckedTogether<Options, Field extends keyof Options, Lone> = [Lone] extends [never]
  ? Options[Field]
  : Field extends Lone
    ? Options[Field]
    : `${Field & string} cannot be combined with ${Lone & string}`;

/** A literal must be a duration or one of the allowed words. A value of type `string` is checked at start. */
type CheckedDuration<Value, Words> = (
  Value extends (...args: never[]) => infer Result ? Awaited<Result> : Value
) extends infer Given
  ? string extends Given
    ? Value
    : Given extends Duration | Words
      ? Value
      : Given extends CalendarWindow
        ? `${Given} is a window of ${CalendarName} only`
        : 'a duration needs a unit, such as 60s'
  : never;

type KnownName<Name> = string extends Name
  ? Name
  : Name extends AlgorithmName | undefined
    ? Name
    : AlgorithmName;

type CheckedOptions<Given> = {
  readonly [Name in keyof Given]: Name extends 'rules' | 'onDemand'
    ? { readonly [Rule in keyof Given[Name]]: CheckedFields<Given[Name][Rule]> }
    : Name extends keyof RateLimitModuleOptions
      ? RateLimitModuleOptions[Name]
      : string extends Name
        ? Given[Name]
        : Name extends keyof RateLimitModuleExtras
          ? `write ${Name} beside useFactory`
          : `the module has no option ${Name & string}`;
};

/** Sentences about wrong options in the result of a factory; `never` if there are none. */
export type OptionProblem<Given, Checked = CheckedOptions<Given>, Path extends string = 'options'> = [
  Given,
] extends [Checked]
  ? never
  : [Checked] extends [`${string} ${string}`]
    ? `${Path}: ${Checked}`
    : Given extends string | number | boolean | readonly unknown[]
      ? `${Path} has the wrong type`
      : {
          [Name in keyof Given & keyof Checked & string]: OptionProblem<
            Given[Name],
            Checked[Name],
            `${Path}.${Name}`
          >;
        }[keyof Given & keyof Checked & string];
