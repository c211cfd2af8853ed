import { isIP } from 'node:net';
import { oneOf } from '../../contracts/options.js';
import { fieldsIn, isFields } from '../../contracts/fields.js';
import { rejectConfig, rejectValue } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { csvReader, separatorOf, w3cReader } from './columns.js';
import {
  capitalized,
  lineReader,
  namesOf,
  textOf,
  type LineOptions,
  type LogReader,
  type Lookup,
  type NamedField,
} from './log-fields.js';

/** A format of `--format`. */
interface LogFormat {
  /** Whether a line has this format, and no format before it in the table. */
  readonly detects: (line: string) => boolean;
  readonly reader: (lines: readonly string[], options: LineOptions) => LogReader;
}

/** How the lines of a log are read. */
export interface ReaderOptions extends LineOptions {
  /** Detected from the lines if absent. */
  readonly format?: Format | undefined;
}

/** A line of text: the groups `time`, `ip` and `user` of its pattern, and the `rest` with the parts in quotes. */
type TextLine = Readonly<Record<string, string | undefined>>;

/** The object in a line of JSON. */
type Fields = Readonly<Record<string, unknown>>;

type TextFields = Readonly<Record<string, Lookup<TextLine>>>;

const TIME = String.raw`\[(?<time>[^\]]{1,40})\]`;

/** `203.0.113.7 - ann [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8"`. */
const COMBINED_LINE = String.raw`(?<ip>\S+)(?: \S+)?(?: (?<user>.*?))? ${TIME} (?<rest>".*)`;

/** The header of syslog, in the form of RFC 3164 or with an ISO time, up to the message. */
const SYSLOG = String.raw`(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT\S+) (?:\S+ )?[^\s:]+: `;

const COMMON: TextFields = {
  ip: ({ ip }) => ip,
  path: (line) => quoted(line, 0)?.split(' ')[1],
  method: (line) => quoted(line, 0)?.split(' ')[0],
};

const ALB: TextFields = { ...COMMON, 'user-agent': (line) => quoted(line, 1) };

const COMBINED: TextFields = {
  ...COMMON,
  user: ({ user }) => user,
  referer: (line) => quoted(line, 1),
  'user-agent': (line) => quoted(line, 2),
  'x-forwarded-for': (line) => quoted(line, 3),
};

/** The combined format of nginx with `"$http_x_forwarded_for"` at the end. */
const FORWARDED: TextFields = { ...COMBINED, ip: (line) => given(quoted(line, 3)) ?? line['ip'] };

/** The formats, in the order in which they are detected. */
const FORMATS = {
  haproxy: ofText(String.raw`(?:${SYSLOG})?(?<ip>\S+) ${TIME} \S+ \S+ [-+\d/]+ (?<rest>.*)`, COMMON),
  syslog: ofText(SYSLOG + COMBINED_LINE, COMBINED),
  alb: ofText(String.raw`(?:https?|h2|grpcs|wss?) (?<time>\d{4}-\S+) \S+ (?<ip>\S+) (?<rest>.*".*)`, ALB),
  vhost_combined: ofText(
    String.raw`\S+ ${COMBINED_LINE}`,
    COMBINED,
    (line) => isIP(line.split(' ', 2)[1] ?? '') > 0,
  ),
  combined: ofText(COMBINED_LINE, COMBINED),
  'nginx-forwarded': ofText(COMBINED_LINE, FORWARDED, () => false),
  caddy: ofJson(/"logger":\s*"http\.log\.access/, {
    time: ['ts'],
    ip: ['request.client_ip', 'request.remote_ip'],
    user: ['user_id'],
    path: ['request.uri'],
  }),
  traefik: ofJson(/"ClientAddr":.*"RequestMethod":/, {
    time: ['StartUTC', 'StartLocal', 'time'],
    ip: ['ClientHost', 'ClientAddr'],
    user: ['ClientUsername'],
    path: ['RequestPath'],
  }),
  cloudflare: ofJson(/"EdgeStartTimestamp":/, {
    time: ['EdgeStartTimestamp'],
    ip: ['ClientIP'],
    path: ['ClientRequestURI', 'ClientRequestPath'],
    'user-agent': ['ClientRequestUserAgent'],
  }),
  json: ofJson(/^\s*\{.*\}\s*$/),
  cloudfront: ofW3c(),
  iis: ofW3c(),
  csv: { detects: () => false, reader: csvReader },
} satisfies Record<string, LogFormat>;

export type Format = keyof typeof FORMATS;

/** Allowed values of `--format`. */
export const FORMAT = oneOf(...Object.keys(FORMATS));

/**
 * @param isUsual whether a line that fits the pattern has this format, and not another one with the same pattern
 * @throws RateLimitConfigError if the format has no such field
 */
function ofText(pattern: string, fields: TextFields, isUsual: LogFormat['detects'] = () => true): LogFormat {
  const line = new RegExp(`^${pattern}`, 's');
  const lookup = (name: string, field: string) => {
    const find = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (find) return find;
    const allowed = [...Object.keys(fields), 'everyone'].join(', ');
    rejectValue('--by', field, `${allowed}; other fields need a log with --format json or csv`);
  };
  return {
    detects: (text) => line.test(text) && isUsual(text),
    reader: (_lines, { by, map }) =>
      lineReader<TextLine>(by, {
        parse: (text) => line.exec(text)?.groups,
        time: ({ time }) => time,
        lookup: (field) => lookup((map[field] ?? field).toLowerCase(), field),
        fields: (found) =>
          Object.entries(fields)
            .map(([name, find]) => [name, find(found)] as const)
            .filter(([, value]) => value !== undefined),
      }),
  };
}

/** Returns the nth quoted part after the time. */
function quoted({ rest = '' }: TextLine, nth: number): string | undefined {
  return rest.match(/"[^"\\]*(?:\\.[^"\\]*)*"/g)?.[nth]?.slice(1, -1);
}

function given(value: string | undefined): string | undefined {
  return value === '-' || value === '' ? undefined : value;
}

/** Lines that are JSON objects. */
function ofJson(pattern: RegExp, names: LineOptions['names'] = {}): LogFormat {
  return {
    detects: (line) => pattern.test(line),
    reader: (_lines, options) => {
      const lookup = (field: string) => finder(namesOf(field, { ...options, names }));
      const fields = (line: Fields) => named(line, '', 3);
      return lineReader(options.by, { parse: fieldsIn, time: lookup('time'), lookup, fields });
    },
  };
}

/** Returns a function that finds a field by any of its names; a dot leads into an object. */
function finder(names: readonly string[]): Lookup<Fields> {
  const paths = names.map((name) => ({ name, steps: name.split('.') }));
  return (line) => {
    for (const { name, steps } of paths) {
      const value = line[name] ?? (steps.length > 1 ? inside(line, steps) : undefined);
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  };
}

function inside(line: Fields, steps: readonly string[]): unknown {
  let value: unknown = line;
  for (const step of steps) {
    if (!isFields(value)) return undefined;
    value = value[step] ?? value[capitalized(step)];
  }
  return value;
}

/** Returns the fields with a text or a number in them, down to a depth. */
function named(line: Fields, parent: string, depth: number): readonly NamedField[] {
  return Object.entries(line).flatMap(([name, value]): readonly NamedField[] => {
    const path = parent + name;
    if (textOf(value) !== undefined) return [[path, value]];
    return depth > 1 && isFields(value) ? named(value, `${path}.`, depth - 1) : [];
  });
}

/** CloudFront and IIS: both write the names of their columns. */
function ofW3c(): LogFormat {
  const names = { time: ['time'], ip: ['c-ip'], user: ['cs-username'], path: ['cs-uri-stem'] };
  return {
    detects: (line) => line.startsWith('#Fields: '),
    reader: (lines, options) => w3cReader(lines, { ...options, names }),
  };
}

function isCsvHeader(line: string): boolean {
  return /^[\w@ ."-]+([,;\t][\w@ ."-]+)+$/.test(line) && /[a-z]/i.test(line.split(separatorOf(line))[0]!);
}

/**
 * Returns the reader for a log.
 *
 * @param lines the first lines, at least one
 * @throws RateLimitConfigError if the format is not detected, or has no such field
 */
export function readerFor(path: string, lines: readonly string[], options: ReaderOptions): LogReader {
  return FORMATS[options.format ?? detect(path, lines)].reader(lines, options);
}

function detect(path: string, lines: readonly string[]): Format {
  const formats = Object.entries(FORMATS) as [Format, LogFormat][];
  for (const line of lines.slice(0, 20)) {
    const found = formats.find(([, { detects }]) => detects(line));
    if (found) return found[0];
  }
  if (isCsvHeader(lines[0]!)) return 'csv';
  rejectConfig(
    `${path}: no known format; its first line is ${shown(lines[0])}; write --format with one of: ${FORMAT.allowed}`,
  );
}
