import { isFields } from './fields.js';
import { didYouMean, problem, problemOf, quoted, rejectAny, rejectValue } from './rate-limit-config.error.js';
import { DURATION_ALLOWED, durationFix, parseDuration } from './duration.js';

/** The check of an option, with the allowed values in words for error messages. */
export interface OptionCheck {
  /** The allowed values: completes the message "…; allowed: ". */
  readonly allowed: string;
  readonly accepts: (value: unknown) => boolean;
  /** Converts a value that may be given as text, before it is checked. */
  readonly read?: (value: unknown) => unknown;
  /** Suggests what to write instead of an invalid value, if possible: completes the message "got 60: ". */
  readonly fix?: (value: unknown) => string | undefined;
  /** Returns one problem per invalid part of a value. */
  readonly problems?: (value: unknown, path: string) => readonly string[];
  readonly isRequired?: boolean;
}

export type OptionChecks = Readonly<Record<string, OptionCheck>>;

/** An integer from 1, which may be given as a string of digits. */
export const FROM_ONE = integer(1);

/** A time in milliseconds, which may be given as a string of digits. */
export const MILLISECONDS: OptionCheck = { ...FROM_ONE, allowed: `${FROM_ONE.allowed}, in milliseconds` };

export const FLAG: OptionCheck = {
  allowed: 'true or false',
  accepts: (value) => typeof value === 'boolean',
  fix: (value) => (value === 'true' || value === 'false' ? `write ${value} without quotes` : undefined),
};

/** Whether a value is an object of flags with these names. */
export function hasFlags(value: unknown, names: readonly string[]): boolean {
  const isFlag = ([name, is]: [string, unknown]): boolean =>
    names.includes(name) && (is === undefined || typeof is === 'boolean');
  return isFields(value) && Object.entries(value).every(isFlag);
}

export const CLOCK = callable('that returns milliseconds since the epoch');

/** A function. `what` describes its purpose for error messages. */
export function callable(of: string): OptionCheck {
  return { allowed: `a function ${of}`, accepts: (value) => typeof value === 'function' };
}

/** Checks that a value is one of several words. */
export function oneOf(...words: readonly string[]): OptionCheck {
  return {
    allowed: quoted(words),
    accepts: (value) => words.includes(value as string),
    fix: (value) => (typeof value === 'string' ? didYouMean(value.replace(/[ _]/g, '-'), words) : undefined),
  };
}

/** A text of this form. */
export function matching(pattern: RegExp, allowed: string): OptionCheck {
  return { allowed, accepts: (value) => typeof value === 'string' && pattern.test(value) };
}

/** A list of values that are accepted. */
export function listOf(items: string, accepts: OptionCheck['accepts']): OptionCheck {
  return { allowed: `a list of ${items}`, accepts: (value) => Array.isArray(value) && value.every(accepts) };
}

/** Converts values that were given as text: a count may be a string of digits. */
export function readFields<Fields extends object>(fields: Fields, checks: OptionChecks): Fields {
  return converted(fields, (value, field) => {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    return check?.read ? check.read(value) : value;
  });
}

/** Converts the values of an object: it is copied if one of them changes. */
export function converted<Fields extends object>(
  fields: Fields,
  convert: (value: unknown, field: string) => unknown,
): Fields {
  let copy: Record<string, unknown> | undefined;
  for (const field of Object.keys(fields)) {
    const value = (fields as Record<string, unknown>)[field];
    const read = convert(value, field);
    if (read !== value) (copy ??= { ...fields } as Record<string, unknown>)[field] = read;
  }
  return (copy ?? fields) as Fields;
}

/** Returns the problem of a value that its check rejects. */
export function rejection(path: string, value: unknown, { allowed, fix }: OptionCheck): string {
  return problem(path, value, allowed, fix?.(value));
}

/** Returns the problem of a name that is not allowed. */
export function unknownOption(path: string, name: string, allowed: readonly string[], of = ''): string {
  return problemOf(`${path}: no such option${of}`, allowed.join(', ') || 'none', didYouMean(name, allowed));
}

/** Returns the problems of an option after conversion. */
export function valueProblems(path: string, value: unknown, check: OptionCheck): readonly string[] {
  if (value === undefined || check.accepts(value)) return [];
  return check.problems?.(value, path) ?? [rejection(path, value, check)];
}

/**
 * Reads the options of a function or a class; `undefined` stands for no options.
 *
 * @param what the name of the function or class in messages, such as `consume`
 * @throws RateLimitConfigError listing every unknown option and every invalid value
 */
export function readOptions<Options extends object>(
  what: string,
  given: Options | undefined,
  checks: { readonly [Name in keyof Required<Options>]: OptionCheck },
): Options {
  const known = checks as OptionChecks;
  if (given !== undefined && (!isFields(given) || isForeign(given, known))) {
    rejectValue(`the options of ${what}`, given, `an object with ${Object.keys(known).join(', ')}`);
  }
  const own: Record<string, unknown> = { ...given }; // Read once: a getter may return another value the next time.
  for (const name of Object.keys(known)) {
    if (given && name in given && !(name in own)) own[name] = (given as typeof own)[name]; // that of a class
  }
  const options = readFields(own as Options, known);
  const fields = options as Readonly<Record<string, unknown>>;
  const problems: string[] = [];
  for (const name of Object.keys(fields)) {
    if (Object.hasOwn(known, name)) problems.push(...valueProblems(name, fields[name], known[name]!));
    else problems.push(unknownOption(`${what}.${name}`, name, Object.keys(known)));
  }
  for (const name of Object.keys(known)) {
    const { allowed, isRequired } = known[name]!;
    if (isRequired && fields[name] === undefined)
      problems.push(`${what}.${name}: missing; allowed: ${allowed}`);
  }
  rejectAny(problems);
  return options;
}

/** Whether an object is an instance of a class that has none of the options, such as the store itself. */
function isForeign(given: object, known: OptionChecks): boolean {
  const { name } = given.constructor ?? Object;
  return name !== 'Object' && !Object.keys(known).some((option) => option in given);
}

/** Checks an integer from `least` to `most`, which may also be given as a string of digits. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER): OptionCheck {
  return {
    allowed: `an integer from ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`}`,
    accepts: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    read: readCount,
  };
}

/** Checks a duration. */
export const durationOption = {
  allowed: DURATION_ALLOWED,
  accepts: (value) => parseDuration(value) !== undefined,
  fix: durationFix,
} as const satisfies OptionCheck;

const text = (most: number, least = 0): OptionCheck => ({
  allowed: `a text of ${least === 0 ? 'up to' : `${least} to`} ${most} characters`,
  accepts: (value) => typeof value === 'string' && value.length >= least && value.length <= most,
});

/** The checks of the author of an operation and its reason. */
export const AUTHORSHIP = { by: text(256, 1), reason: text(1024) };

/**
 * Converts a count given as a string of digits, as in environment variables and configuration files, to a number.
 * Returns any other value unchanged, so that the check of the option can reject it.
 */
export function readCount(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
}
