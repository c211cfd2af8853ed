import { shown } from './shown.js';

/** Thrown for invalid rules and options: names each key, the value given and the values allowed. */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';
  readonly #problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['Rate limit configuration is wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.#problems = problems;
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
