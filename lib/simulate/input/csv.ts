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
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|((?!")[^${separator}]*))(${separator}|$)`, 'y');
  const cells: string[] = [];
  for (let isLast = false; !isLast;) {
    const match = cell.exec(text);
    if (!match) return undefined;
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    isLast = match[3] === '';
  }
  return cells;
}
