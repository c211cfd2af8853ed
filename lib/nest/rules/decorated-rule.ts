import type { CalendarWindow } from '../../algorithms/calendar-length.js';
import type { AlgorithmName } from '../../algorithms/registry.js';
import type { Duration } from '../../contracts/duration.js';
import type {
  AnyOptions,
  CalendarName,
  LeaseName,
  LoneOption,
  NotOfLeases,
  OptionsOf,
} from '../../rules/rule.js';
import type { ConfiguredDuration, PerRequest, RouteRuleFields } from './route-rule.js';

/**
 * A rule as a decorator accepts it: the fields of any rule and the options of any algorithm. {@link CheckedRule}
 * states which of them can be combined.
 */
export type DecoratedRule = object &
  Omit<RouteRuleFields, 'window' | 'block' | 'maxWait'> &
  AnyOptions & {
    /**
     * Name in decisions, headers and overrides: 1 to 64 printable ASCII characters, and no duration such as `1m`.
     * @default 'default'
     */
    readonly name?: string;
    /**
     * The algorithm.
     * @default 'sliding-window-log'
     */
    readonly algorithm?: AlgorithmName | (string & {}) | undefined;
    /** Length of the window. */
    readonly window?: PerRequest<ConfiguredDuration | number>;
    /** How long a denial blocks the subject, or `'manual'`. */
    readonly block?: ConfiguredDuration | number;
    /** How long a call of a provider's method, or a request of `concurrency` or `leaky-bucket`, waits for permits. */
    readonly maxWait?: ConfiguredDuration | number;
  };

/**
 * A rule in which the type of every invalid field is a sentence, so that the compiler's error is that sentence. An
 * optional field comes from a declared type, and is checked at start. The name of a rule is not checked.
 */
export type CheckedRule<Given> = Given extends string
  ? Given
  : keyof Given extends FieldsOf[KeyOf<AlgorithmOf<Given>>]
    ? Given extends Unquestioned
      ? Given
      : CheckedFields<Given>
    : CheckedFields<Given>;

/** The values that need no further check. */
interface Unquestioned {
  readonly window?: Duration;
  readonly block?: Duration | 'manual';
  readonly maxWait?: Duration;
}

type CommonField = Exclude<keyof DecoratedRule, keyof AnyOptions | 'alerts'>;

/** The fields that can be combined, by the algorithm. */
type FieldsOf = { readonly none: Exclude<CommonField, 'algorithm'> } & {
  readonly [Name in AlgorithmName]:
    | Exclude<keyof OptionsOf<Name>, LoneOption<Name>>
    | Exclude<CommonField, Name extends LeaseName ? 'window' : never>;
};

type CheckedFields<Given> = {
  readonly [Field in keyof Given]: object extends Pick<Given, Field>
    ? Given[Field]
    : CheckedField<Given, Field, AlgorithmOf<Given>>;
};

/** Not `undefined`, which without `strictNullChecks` extends every name. */
type Unset = false;

type AlgorithmOf<Given> = Given extends { readonly algorithm: infer Name } ? Name : Unset;

/** The key in `FieldsOf`. */
type KeyOf<Algorithm> = Algorithm extends AlgorithmName ? Algorithm : 'none';

type CheckedField<Given, Field extends keyof Given, Algorithm> = Field extends keyof AnyOptions
  ? CheckedOption<Given, Field, Algorithm>
  : Field extends NotOfLeases
    ? Algorithm extends LeaseName
      ? `${Algorithm} has no ${Field}`
      : Field extends 'window'
        ? CheckedDuration<Given[Field], Algorithm extends CalendarName ? CalendarWindow : never>
        : Field extends 'alerts'
          ? CheckedAlerts<Given>
          : Given[Field]
    : Field extends 'block' | 'maxWait'
      ? CheckedDuration<Given[Field], Field extends 'block' ? 'manual' : never>
      : Field extends 'algorithm'
        ? KnownName<Given[Field]>
        : Field extends keyof DecoratedRule
          ? Given[Field]
          : `a rule has no field ${Field & string}`;

type CheckedAlerts<Given> = Given extends { readonly share: unknown } | { readonly prefetch: unknown }
  ? 'a rule with share or prefetch has no alerts'
  : readonly number[];

type CheckedOption<Given, Field extends keyof Given, Algorithm> = Algorithm extends AlgorithmName
  ? Field extends keyof OptionsOf<Algorithm>
    ? CheckedTogether<Given, Field, Extract<keyof Given, LoneOption<Algorithm>>>
    : `${Algorithm} has no option ${Field & string}`
  : string extends Algorithm
    ? Given[Field]
    : `${Field & string} is an option of another algorithm: set algorithm as well`;

type CheckedTogether<Given, Field extends keyof Given, Lone> = [Lone] extends [never]
  ? Given[Field]
  : Field extends Lone
    ? Given[Field]
    : `${Field & string} cannot be combined with ${Lone & string}`;

/** A literal must be a duration or one of the allowed words. A value of type `string` is checked at start. */
type CheckedDuration<Value, Words> = string extends Value
  ? Value
  : Value extends Duration | Words
    ? Value
    : Value extends CalendarWindow
      ? `${Value} is a window of ${CalendarName} only`
      : Value extends string | number
        ? 'a duration needs a unit, such as 60s'
        : CheckedResult<Value>;

type CheckedResult<Value> = Value extends (...args: never[]) => infer Result
  ? Awaited<Result> extends number
    ? 'a duration needs a unit, such as 60s'
    : Value
  : Value;

type KnownName<Name> = string extends Name
  ? Name
  : Name extends AlgorithmName | undefined
    ? Name
    : AlgorithmName;
