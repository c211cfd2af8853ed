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

/**
 * Returns the allowed word that a misspelled one is closest to, in lower case; `undefined` if more than a
 * third of its characters are wrong.
 */
export function nearest(misspelled: string, words: readonly string[]): string | undefined {
  if (misspelled.length > 64) return undefined;
  const measured = words
    .map((word) => ({ word, edits: editsBetween(misspelled.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, edits }) => edits <= Math.max(1, Math.floor(word.length / 3)));
  return measured.sort((a, b) => a.edits - b.edits)[0]?.word;
}

/** Returns the fix of a misspelled word, such as `did you mean "limit"?`; `undefined` if none is close. */
export function didYouMean(misspelled: string, words: readonly string[]): string | undefined {
  const meant = nearest(misspelled, words);
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

/**
 * Returns the number of characters to insert, delete, replace or swap with the next one (optimal string
 * alignment).
 */
export function editsBetween(from: string, to: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = row > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          previous[column]! + 1,
          current[column - 1]! + 1,
          previous[column - 1]! + (isSame ? 0 : 1),
          isSwap ? before[column - 2]! + 1 : Infinity,
        ),
      );
    }
    [before, previous] = [previous, current];
  }
  return previous[to.length]!;
}
