import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { fieldsFound, lineReader, namesOf, type LineOptions, type LogReader } from './log-fields.js';

const SEPARATORS = [',', '\t', ';'];

/** What splits the lines of a format with columns. */
interface Columns {
  /** Returns the names of the columns if a line has them, an empty list if it is another line without a request. */
  readonly header: (line: string) => readonly string[] | undefined;
  readonly split: (line: string) => readonly string[] | undefined;
}

/** Returns a reader for CSV, with the names of the columns from the header, the first line. */
export function csvReader(lines: readonly string[], options: LineOptions): LogReader {
  const separator = separatorOf(lines[0]!);
  const split = (line: string) => splitCsv(line, separator);
  const header = (line: string) =>
    line.trimEnd() === lines[0] ? split(lines[0])!.map((name) => name.trim()) : undefined;
  return columnReader(lines, options, { header, split });
}

/** Returns a reader for the extended format of the W3C: IIS separates the columns by spaces, CloudFront by tabs. */
export function w3cReader(lines: readonly string[], options: LineOptions): LogReader {
  return columnReader(lines, options, {
    header(line) {
      if (!line.startsWith('#')) return undefined;
      return line.startsWith('#Fields:') ? line.slice(8).trim().split(/\s+/) : [];
    },
    split: (line) => line.split(line.includes('\t') ? '\t' : ' '),
  });
}

function columnReader(lines: readonly string[], options: LineOptions, { header, split }: Columns): LogReader {
  let columns: readonly string[] = [];
  let positions: Readonly<Record<string, number>> = {};
  /** The column with the date, if the time is in a column of its own. */
  let dateAt = -1;
  const sample = lines.find((line) => header(line) === undefined) ?? '';
  const fields = (cells: readonly string[]) => columns.map((name, at) => [name, cells[at]] as const);
  const positionOf = (field: string) => {
    const names = namesOf(field, options).map((name) => name.toLowerCase());
    const found = names
      .map((name) => columns.findIndex((column) => column.toLowerCase() === name))
      .find((at) => at >= 0);
    if (found !== undefined) return found;
    rejectConfig(`no column ${shown(names[0])}; ${fieldsFound(fields(split(sample) ?? []), [field])}`);
  };
  const cell = (field: string) => (cells: readonly string[]) => cells[positions[field]!];
  const time = cell('time');
  const reader = lineReader<readonly string[]>(options.by, {
    parse(text) {
      const cells = split(text);
      return cells?.length === columns.length ? cells : undefined;
    },
    time: (cells) => (dateAt < 0 ? time(cells) : `${cells[dateAt]} ${time(cells)}`),
    lookup: cell,
    fields,
  });
  const read = (text: string) => {
    const names = header(text);
    if (names === undefined) return reader.read(text);
    if (names.length === 0) return undefined;
    columns = names;
    const needed = ['time', ...options.by.filter((field) => field !== 'everyone')];
    positions = Object.fromEntries(needed.map((field) => [field, positionOf(field)]));
    const isApart = options.map.time === undefined && columns.includes('time');
    dateAt = isApart ? columns.indexOf('date') : -1;
    return undefined;
  };
  return { read, fields: reader.fields };
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
