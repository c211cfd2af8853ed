import { didYouMean } from './nearest.js';
import { escaped, shown } from './shown.js';

const LONGEST = 10_000;

/** Shortens long names and escapes text: both may come from a client. */
function shortened(problem: string): string {
  const text = problem.length > LONGEST ? `${problem.slice(0, LONGEST)}…` : problem;
  return escaped(text).replace(/(\S{80})\S{120,}/g, '$1…');
}

/** Thrown for invalid rules and options: names each key, the value given and the values allowed. */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';
  readonly #problems: readonly string[];

  constructor(problems: readonly string[]) {
    const short = problems.map(shortened);
    super(['Rate limit configuration is wrong:', ...short.map((problem) => `  - ${problem}`)].join('\n'));
    this.#problems = short;
  }

  /** One sentence per invalid value. */
  get problems(): readonly string[] {
    return this.#problems;
  }
}

/** @throws RateLimitConfigError with the problems, if there are any */
export function rejectAny(problems: readonly string[]): void {
  if (problems.length > 0) throw new RateLimitConfigError(problems);
}

/** @throws RateLimitConfigError with one problem */
export function rejectConfig(reason: string): never {
  throw new RateLimitConfigError([reason]);
}

/** @throws RateLimitConfigError with the value given, the values allowed and the fix */
export function rejectValue(...given: Parameters<typeof problem>): never {
  rejectConfig(problem(...given));
}

/** Returns names in quotes, separated by commas. */
export function quoted(names: Iterable<string>): string {
  return Array.from(names, (name) => `"${name}"`).join(', ');
}

/** Returns the problem of a name that is none of those known. */
export function unknownName(text: string, name: string, known: Iterable<string>): string {
  const names = [...known];
  return problemOf(text, quoted(names) || 'none, since there are none', didYouMean(name, names));
}

/**
 * Formats a problem for an error message.
 *
 * @param fix suggests what to write instead of the value
 */
export function problem(path: string, given: unknown, allowed: string, fix?: string): string {
  return problemOf(`${path}: got ${shown(given)}`, allowed, fix);
}

/** Formats a problem that is described by a text of its own. The fix comes first, since the allowed values can be many. */
export function problemOf(text: string, allowed: string, fix?: string): string {
  return `${text}${fix === undefined ? '' : `: ${fix}`}; allowed: ${allowed}`;
}

/** Returns what a function makes; `undefined` if it throws a RateLimitConfigError. */
export function ifValid<Made>(make: () => Made): Made | undefined {
  let made: Made | undefined;
  problemsOf(() => (made = make()));
  return made;
}

/** Returns the problems of an attempt; none if it succeeds. */
export function problemsOf(attempt: () => unknown): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    if (error instanceof RateLimitConfigError) return error.problems;
    throw error;
  }
}
