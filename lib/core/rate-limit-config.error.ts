/** Thrown when rules or options are wrong: names each key, the value given and the values allowed. */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';
  readonly #problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['Rate limit configuration is wrong:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.#problems = problems;
  }

  /** One sentence for each thing that is wrong. */
  get problems(): readonly string[] {
    return this.#problems;
  }
}

/**
 * One problem in the form that every message has.
 *
 * @param fix what to write in the place of the value, if that can be said
 */
export function problem(path: string, given: unknown, allowed: string, fix?: string): string {
  return `${path}: got ${show(given)}${fix === undefined ? '' : `: ${fix}`}; allowed: ${allowed}`;
}

function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  const text = typeof value === 'number' ? String(value) : printed(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function printed(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return 'a value that JSON cannot hold';
  }
}
