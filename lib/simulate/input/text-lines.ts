import { rejectValue } from '../../contracts/rate-limit-config.error.js';
import type { LineOptions, LogReader } from './lines.js';
import { lineReader, type Lookup } from './log-fields.js';

/** A line of text, and where its parts are. */
interface TextLine {
  readonly text: string;
  /** Index of the address. */
  readonly start: number;
  /** Index of the character before the time. */
  readonly open: number;
  /** Index of the character after the time. */
  readonly close: number;
}

/** A format of lines of text. */
export interface TextFormat {
  /** Returns where the parts of a line are; `undefined` if the line has another format. */
  readonly locate: (text: string) => TextLine | undefined;
  readonly fields: Readonly<Record<string, Lookup<TextLine>>>;
}

/** The header of syslog, in the form of RFC 3164 or with an ISO time, up to the message. */
const SYSLOG = /^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT\S+) (?:\S+ )?[^\s:]+: /;

const COMMON: TextFormat['fields'] = {
  ip: ({ text, start }) => text.slice(start, text.indexOf(' ', start)),
  path: (line) => quoted(line, 0)?.split(' ')[1],
  method: (line) => quoted(line, 0)?.split(' ')[0],
};

const COMBINED: TextFormat['fields'] = {
  ...COMMON,
  user: ({ text, start, open }) => text.slice(text.indexOf(' ', text.indexOf(' ', start) + 1) + 1, open - 1),
  referer: (line) => quoted(line, 1),
  'user-agent': (line) => quoted(line, 2),
  'x-forwarded-for': (line) => quoted(line, 3),
};

/** `203.0.113.7 - ann [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8"`. */
export const combined: TextFormat = { locate: (text) => combinedAt(text, 0), fields: COMBINED };

/** The combined format of nginx with `"$http_x_forwarded_for"` at the end. */
export const forwarded: TextFormat = {
  locate: combined.locate,
  fields: { ...COMBINED, ip: (line) => given(quoted(line, 3)) ?? COMBINED.ip!(line) },
};

/** The combined format of Apache after the name of the virtual host. */
export const vhostCombined: TextFormat = {
  locate: (text) => combinedAt(text, text.indexOf(' ') + 1),
  fields: COMBINED,
};

/** The combined format after a header of syslog. */
export const syslog: TextFormat = {
  locate: (text) => combinedAt(text, SYSLOG.exec(text)?.[0].length ?? Infinity),
  fields: COMBINED,
};

/** The access log of an AWS Application Load Balancer. */
export const alb: TextFormat = {
  locate(text) {
    if (!/^(?:https?|h2|grpcs|wss?) \d{4}-\S+ \S+ \S+ .*"/.test(text)) return undefined;
    const open = text.indexOf(' ');
    const close = text.indexOf(' ', open + 1);
    return { text, start: text.indexOf(' ', close + 1) + 1, open, close };
  },
  fields: { ...COMMON, 'user-agent': (line) => quoted(line, 1) },
};

/** The HTTP format of HAProxy (`option httplog`), with or without a header of syslog. */
export const haproxy: TextFormat = {
  locate(text) {
    const start = SYSLOG.exec(text)?.[0].length ?? 0;
    const open = text.indexOf(' [', start) + 1;
    const close = text.indexOf(']', open);
    return open > start && /^\] \S+ \S+ [-+\d/]+ /.test(text.slice(close))
      ? { text, start, open, close }
      : undefined;
  },
  fields: COMMON,
};

function combinedAt(text: string, start: number): TextLine | undefined {
  const open = text.indexOf(' [', start) + 1;
  const close = text.indexOf(']', open);
  const isRequest = open >= start + 2 && close >= 0 && text.charCodeAt(close + 2) === 34;
  return isRequest ? { text, start, open, close } : undefined;
}

/** Returns the nth quoted part after the time. */
function quoted({ text, close }: TextLine, nth: number): string | undefined {
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

function given(value: string | undefined): string | undefined {
  return value === '-' || value === '' ? undefined : value;
}

/**
 * Returns a reader for a format of text.
 *
 * @throws RateLimitConfigError if the format has no such field
 */
export function textReader({ locate, fields }: TextFormat, { by, map }: LineOptions): LogReader {
  return lineReader<TextLine>(by, {
    parse: locate,
    time: ({ text, open, close }) => text.slice(open + 1, close),
    fields: (line) =>
      Object.entries(fields).flatMap(([name, find]) => {
        const value = find(line);
        return value === undefined ? [] : [[name, value] as const];
      }),
    lookup(field) {
      const name = (map[field] ?? field).toLowerCase();
      const find = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (find) return find;
      const allowed = [...Object.keys(fields), 'everyone'].join(', ');
      rejectValue('--by', field, `${allowed}; other fields need a log with --format json or csv`);
    },
  });
}
