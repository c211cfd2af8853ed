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

/**
 * Formats a problem for an error message.
 *
 * @param fix suggests what to write instead of the value
 */
export function problem(path: string, given: unknown, allowed: string, fix?: string): string {
  return `${path}: got ${shown(given)}${fix === undefined ? '' : `: ${fix}`}; allowed: ${allowed}`;
}
