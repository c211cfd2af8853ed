import { oneOf } from '../../rules/rule-fields.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { combinedReader } from './combined.js';
import { csvReader, separatorOf } from './csv.js';
import { jsonReader } from './json-lines.js';
import type { LineOptions, LineReader } from './lines.js';

export type Format = 'combined' | 'json' | 'csv';

/** Allowed values of `--format`. */
export const FORMAT = oneOf('combined', 'json', 'csv');

/** A reader for the lines of a log. */
export interface ReaderOfLines {
  readonly read: LineReader;
  /** Whether the first line is a header. */
  readonly hasHeader: boolean;
}

/**
 * Returns the reader for a log.
 *
 * @param lines the first lines, at least one
 * @param format the format; detected from the lines if absent
 * @throws RateLimitConfigError if the format is not detected, or has no such field
 */
export function readerFor(
  path: string,
  lines: readonly string[],
  options: LineOptions,
  format: Format | undefined,
): ReaderOfLines {
  switch (format ?? detect(path, lines)) {
    case 'combined':
      return { read: combinedReader(options), hasHeader: false };
    case 'json':
      return { read: jsonReader(options), hasHeader: false };
    case 'csv':
      return { read: csvReader(lines[0]!, options), hasHeader: true };
  }
}

function detect(path: string, lines: readonly string[]): Format {
  const isCombined = combinedReader({ by: ['everyone'], map: {} });
  for (const line of lines.slice(0, 20)) {
    if (isCombined(line)) return 'combined';
    if (/^\s*\{.*\}\s*$/.test(line)) return 'json';
  }
  const [first] = lines as [string];
  if (/^[\w@ ."-]+([,;\t][\w@ ."-]+)+$/.test(first) && /[a-z]/i.test(first.split(separatorOf(first))[0]!)) {
    return 'csv';
  }
  throw new RateLimitConfigError([
    `${path}: no known format; its first line is ${shown(first)}; write --format with one of: ${FORMAT.allowed}`,
  ]);
}
