import { problem, RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { lineReader, namesOf } from './log-fields.js';
import type { LineOptions, LineReader } from './lines.js';

const SEPARATORS = [',', '\t', ';'];

/** Returns a reader for CSV, with the names of the columns from the header. */
export function csvReader(header: string, { by, map }: LineOptions): LineReader {
  const separator = separatorOf(header);
  const columns = splitCsv(header, separator)!.map((name) => name.trim());
  const columnOf = (field: string) => {
    const names = namesOf(field, map).map((name) => name.toLowerCase());
    const found = names
      .map((name) => columns.findIndex((column) => column.toLowerCase() === name))
      .find((at) => at >= 0);
    if (found !== undefined) return found;
    const fix = `write --map ${field}=<column>`;
    throw new RateLimitConfigError([
      problem(`the column of ${field}`, names[0], `the columns of the header: ${columns.join(', ')}`, fix),
    ]);
  };
  const cell = (at: number) => (cells: readonly string[]) => cells[at];
  return lineReader(by, {
    parse(text) {
      const cells = splitCsv(text, separator);
      return cells?.length === columns.length ? cells : undefined;
    },
    time: cell(columnOf('time')),
    lookup: (field) => cell(columnOf(field)),
  });
}

/** Returns the separator that a header has most often. */
export function separatorOf(header: string): string {
  const counts = SEPARATORS.map((separator) => header.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))]!;
}

/** Returns the cells of a line; `undefined` if a quote is not closed. */
function splitCsv(text: string, separator: string): readonly string[] | undefined {
  if (!text.includes('"')) return text.split(separator);
  const cells: string[] = [];
  let at = 0;
  while (at <= text.length) {
    if (text.charAt(at) !== '"') {
      const end = text.indexOf(separator, at);
      cells.push(text.slice(at, end < 0 ? text.length : end));
      if (end < 0) return cells;
      at = end + 1;
      continue;
    }
    let end = text.indexOf('"', at + 1);
    while (end >= 0 && text.charAt(end + 1) === '"') end = text.indexOf('"', end + 2);
    if (end < 0) return undefined;
    cells.push(text.slice(at + 1, end).replaceAll('""', '"'));
    if (end + 1 >= text.length) return cells;
    if (text.charAt(end + 1) !== separator) return undefined;
    at = end + 2;
  }
  return cells;
}
