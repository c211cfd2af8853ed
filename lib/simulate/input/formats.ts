import { isIP } from 'node:net';
import { oneOf } from '../../rules/rule-fields.js';
import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { shown } from '../../contracts/shown.js';
import { csvReader, separatorOf, w3cReader } from './columns.js';
import { jsonReader } from './json-lines.js';
import type { LineOptions, LogReader } from './lines.js';
import * as text from './text-lines.js';

/** A format of `--format`. */
interface LogFormat {
  /** Whether a line has this format, and no format before it in the table. */
  readonly detects: (line: string) => boolean;
  readonly reader: (lines: readonly string[], options: LineOptions) => LogReader;
  /** The names of the fields in this format. */
  readonly names?: LineOptions['names'];
}

/** The formats, in the order in which they are detected. */
const FORMATS = {
  haproxy: ofText(text.haproxy),
  syslog: ofText(text.syslog),
  alb: ofText(text.alb),
  vhost_combined: ofText(text.vhostCombined, (line) => isIP(line.split(' ', 2)[1] ?? '') > 0),
  combined: ofText(text.combined),
  'nginx-forwarded': ofText(text.forwarded, () => false),
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

function ofText(format: text.TextFormat, isUsual: LogFormat['detects'] = () => true): LogFormat {
  return {
    detects: (line) => format.locate(line) !== undefined && isUsual(line),
    reader: (_lines, options) => text.textReader(format, options),
  };
}

function ofJson(pattern: RegExp, names?: LineOptions['names']): LogFormat {
  return { detects: (line) => pattern.test(line), reader: (_lines, options) => jsonReader(options), names };
}

/** CloudFront and IIS: both write the names of their columns. */
function ofW3c(): LogFormat {
  const names = { time: ['time'], ip: ['c-ip'], user: ['cs-username'], path: ['cs-uri-stem'] };
  return { detects: (line) => line.startsWith('#Fields: '), reader: w3cReader, names };
}

function isCsvHeader(line: string): boolean {
  return /^[\w@ ."-]+([,;\t][\w@ ."-]+)+$/.test(line) && /[a-z]/i.test(line.split(separatorOf(line))[0]!);
}

/**
 * Returns the reader for a log.
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
): LogReader {
  const { reader, names }: LogFormat = FORMATS[given ?? detect(path, lines)];
  return reader(lines, { ...options, ...(names && { names }) });
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
