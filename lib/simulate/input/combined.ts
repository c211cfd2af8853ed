import { problem, RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { LineOptions, LineReader } from './lines.js';
import { lineReader, type Lookup } from './log-fields.js';

/** A line of the combined or common format, and where its parts are. */
interface CombinedLine {
  readonly text: string;
  /** Index of the `[` before the time. */
  readonly open: number;
  /** Index of the `]` after the time. */
  readonly close: number;
}

const FIELDS: Readonly<Record<string, Lookup<CombinedLine>>> = {
  ip: ({ text }) => text.slice(0, text.indexOf(' ')),
  user: ({ text, open }) => text.slice(text.indexOf(' ', text.indexOf(' ') + 1) + 1, open - 1),
  path: (line) => quoted(line, 0)?.split(' ')[1],
  method: (line) => quoted(line, 0)?.split(' ')[0],
  referer: (line) => quoted(line, 1),
  'user-agent': (line) => quoted(line, 2),
};

/** Returns a quoted part of a line: 0 is the request, 1 the referer, 2 the user agent. */
function quoted({ text, close }: CombinedLine, nth: number): string | undefined {
  let start = text.indexOf('"', close) + 1;
  for (let index = 0; start > 0; index += 1) {
    const end = closingQuote(text, start);
    if (end < 0) return undefined;
    if (index === nth) return text.slice(start, end);
    start = text.indexOf('"', end + 1) + 1;
  }
  return undefined;
}

function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end > 0 && text.charCodeAt(end - 1) === 92) end = text.indexOf('"', end + 1);
  return end;
}

/**
 * Returns a reader for the combined and common formats of nginx and Apache:
 * `203.0.113.7 - ann [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8"`.
 *
 * @throws RateLimitConfigError if the format has no such field
 */
export function combinedReader({ by, map }: LineOptions): LineReader {
  return lineReader<CombinedLine>(by, {
    parse,
    time: ({ text, open, close }) => text.slice(open + 1, close),
    lookup(field) {
      const name = (map[field] ?? field).toLowerCase();
      const find = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
      if (find) return find;
      const allowed = [...Object.keys(FIELDS), 'everyone'].join(', ');
      throw new RateLimitConfigError([
        problem('--by', field, `${allowed}; other fields need a log with --format json or csv`),
      ]);
    },
  });
}

function parse(text: string): CombinedLine | undefined {
  const open = text.indexOf(' [') + 1;
  const close = text.indexOf(']', open);
  const isRequest = open >= 2 && close >= 0 && text.charCodeAt(close + 2) === 34;
  return isRequest ? { text, open, close } : undefined;
}
