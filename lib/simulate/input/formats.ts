import { oneOf } from '../../rules/rule-fields.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { combinedReader } from './combined.js';
import { csvReader, separatorOf } from './csv.js';
import { jsonReader } from './json-lines.js';
import type { LineOptions, LineReader } from './lines.js';

const READERS = {
  combined: (_header: string, options: LineOptions) => combinedReader(options),
  json: (_header: string, options: LineOptions) => jsonReader(options),
  csv: csvReader,
};

export type Format = keyof typeof READERS;

/** Allowed values of `--format`. */
export const FORMAT = oneOf(...Object.keys(READERS));

/**
 * Returns the reader for a log, and whether its first line is a header.
 *
 * @param lines the first lines, at least one
 * @param given the format; detected from the lines if absent
 * @throws RateLimitConfigError if the format is not detected, or has no such field
 */
export function readerFor(
  path: string,
  lines: readonly string[],
  options: LineOptions,
  given: Format | undefined,
): { readonly read: LineReader; readonly hasHeader: boolean } {
  const format = given ?? detect(path, lines);
  return { read: READERS[format](lines[0]!, options), hasHeader: format === 'csv' };
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
