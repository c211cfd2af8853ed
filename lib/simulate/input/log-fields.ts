import { createHash } from 'node:crypto';
import { escaped, shown } from '../../contracts/shown.js';
import { allowListOf, canonicalIp } from '../../http/client-ip.js';
import { readTime, timeReader } from './log-time.js';

/** A request of a log. */
export interface LoggedRequest {
  /** Microseconds since the epoch. */
  readonly time: number;
  /** The subject; `undefined` if the line has none. */
  readonly subject: string | undefined;
}

/** A field of a line: its name as `--map` takes it, and its value. */
export type NamedField = readonly [name: string, value: unknown];

/** What reads the lines of a log. */
export interface LogReader {
  /** Returns the request in a line; the reason if the line is malformed, and `undefined` if it is a header. */
  readonly read: (line: string) => LoggedRequest | string | undefined;
  /** Returns the fields of a line; none if it is malformed. */
  readonly fields: (line: string) => readonly NamedField[];
}

/** What is read of each line. */
export interface LineOptions {
  /** The fields that make the subject. */
  readonly by: readonly string[];
  /** Names of fields in the log, by the name that they are used as: `{ time: 'ts' }`. */
  readonly map: Readonly<Record<string, string>>;
  /** The names that the format uses for a field, the preferred one first. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

/** Names that logs use for the fields of a request. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  time: [
    'time',
    'timestamp',
    '@timestamp',
    'ts',
    'time_iso8601',
    'time_local',
    'msec',
    'date',
    'datetime',
    'start_time',
  ],
  ip: [
    'ip',
    'remote_addr',
    'client_ip',
    'clientip',
    'client.ip',
    'remote_ip',
    'request.client_ip',
    'request.remote_ip',
    'remoteAddress',
    'req.remoteAddress',
    'c-ip',
  ],
  user: ['user', 'remote_user', 'user_id', 'userId', 'user.id', 'user.name'],
  path: ['path', 'uri', 'request_uri', 'url', 'url.path', 'req.url', 'request.uri', 'cs-uri-stem'],
};

/** Returns the names that a field may have in a log: the mapped one alone, or the usual ones. */
export function namesOf(field: string, { map, names = {} }: LineOptions): readonly string[] {
  if (Object.hasOwn(map, field)) return [map[field]!];
  if (Object.hasOwn(names, field)) return names[field]!;
  if (Object.hasOwn(NAMES, field)) return NAMES[field]!;
  const header = capitalized(field);
  const parents = ['headers.', 'req.headers.', 'request.headers.'].map((parent) => parent + field);
  return [field, ...parents, `request_${header}`, `cs(${header})`];
}

/** `x-api-key` as some servers log it: `X-Api-Key`. */
export function capitalized(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Maximum length of a part of a subject, in characters. */
const LONGEST = 512;

/** Returns the value of a field of a log line; `undefined` if there is none. */
export type Lookup<Line> = (line: Line) => unknown;

/** What a reader of one format knows. */
interface LineFormat<Line> {
  /** Splits a line. Returns `undefined` if it is malformed. */
  readonly parse: (text: string) => Line | undefined;
  readonly time: Lookup<Line>;
  /** Returns how a field in `--by` is found. */
  readonly lookup: (field: string) => Lookup<Line>;
  /** Returns the fields that `--map` can name. */
  readonly fields: (line: Line) => readonly NamedField[];
}

/** Returns a reader for the lines of a format. */
export function lineReader<Line>(by: readonly string[], format: LineFormat<Line>): LogReader {
  const { parse, time: timeIn, fields } = format;
  const timeOf = timeReader();
  const subjectOf = subjectFrom(by, format.lookup);
  return {
    read: (text) => {
      const line = parse(text);
      if (line === undefined) return 'not a line of this format';
      const time = timeOf(timeIn(line));
      if (time === undefined) return `time: got ${shown(timeIn(line))}`;
      const subject = subjectOf(line);
      return subject === NO_ADDRESS ? addressProblem(line, format) : { time, subject };
    },
    fields: (text) => {
      const line = parse(text);
      return line === undefined ? [] : fields(line);
    },
  };
}

function addressProblem<Line>(line: Line, { lookup, fields }: LineFormat<Line>): string {
  const value = textOf(lookup('ip')(line));
  const [name] = fields(line).find(([, other]) => textOf(other) === value) ?? ['ip'];
  return `${name}: got ${shown(value)}; allowed: an IP address`;
}

/** Returns the subject of a line; `undefined` if it has none, `NO_ADDRESS` if the `ip` is none. */
type SubjectOf<Line> = (line: Line) => string | undefined;

/** In place of a subject: the value of `ip` is no address. */
const NO_ADDRESS = '\0';

/**
 * Returns a function that builds the subject of a line from the fields in `--by`, as the guard does: IPv6 addresses are
 * masked to their network, and several fields are one subject.
 */
function subjectFrom<Line>(by: readonly string[], lookup: LineFormat<Line>['lookup']): SubjectOf<Line> {
  const parts = by.map((field) => partFrom(field, lookup));
  const isMissing = (value: string | undefined) => value === undefined || value === NO_ADDRESS;
  return (line) => {
    const values = parts.map((part) => part(line));
    return values.some(isMissing) ? values.find(isMissing) : values.join(', ');
  };
}

function partFrom<Line>(field: string, lookup: LineFormat<Line>['lookup']): SubjectOf<Line> {
  if (field === 'everyone') return () => 'everyone';
  const find = lookup(field);
  const convert = field === 'ip' ? clientOf : field === 'path' ? pathOf : (text: string) => text;
  return (line) => {
    const text = textOf(find(line));
    return text === undefined || text === '' || text === '-' ? undefined : shortened(convert(text));
  };
}

/** Returns the text of a value; of a list, that of its first element. */
export function textOf(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === 'string') return first;
  return typeof first === 'number' || typeof first === 'boolean' ? String(first) : undefined;
}

/** Returns the canonical IP. Of a list of forwarded addresses it is the last one that is not private. */
function clientOf(text: string): string {
  if (!text.includes(',')) return canonicalIp(text) ?? NO_ADDRESS;
  const addresses = text.split(',').map((address) => canonicalIp(address.trim()) ?? NO_ADDRESS);
  return addresses.findLast((address) => !isPrivate(address)) ?? addresses[0]!;
}

const inPrivateNetwork = allowListOf([
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'],
  ...['::1/128', 'fc00::/7', 'fe80::/10'],
]);

/** Whether a canonical IP is an address of a private network, as that of a proxy. */
export function isPrivate(client: string): boolean {
  return inPrivateNetwork({ ip: client.split('/')[0] });
}

/** Returns the path of a URL without its query. */
function pathOf(text: string): string {
  const from = text.startsWith('/') ? text : text.replace(/^https?:\/\/[^/?#]*/, '');
  const end = from.search(/[?#]/);
  return (end < 0 ? from : from.slice(0, end)) || '/';
}

/** Replaces the rest of a long subject by its hash, so that a number of clients bounds their memory. */
function shortened(text: string): string {
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST / 2)}#${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

const MOST_LISTED = 40;

/** The year 2000, in microseconds: a smaller number is a duration or a size. */
const EARLIEST = 946_684_800e6;

/** Returns the fields of a line as text, and the `--map` that reads the missing ones. */
export function fieldsFound(fields: readonly NamedField[], missing: readonly string[]): string {
  if (fields.length === 0) return 'no line has this format; check --format';
  const names = fields.slice(0, MOST_LISTED).map(([name]) => name);
  const more = fields.length > MOST_LISTED ? ` and ${fields.length - MOST_LISTED} more` : '';
  const map = missing
    .filter((field) => !names.includes(field))
    .map((field) => `${field}=${fieldFor(field, fields) ?? '<field>'}`);
  const fix = map.length > 0 ? `write --map ${map.join(',')}` : 'check --format, --map and --by';
  return escaped(`the log has the fields ${names.join(', ')}${more}; ${fix}`);
}

/** Returns the first field whose value can be a time or an address. */
function fieldFor(field: string, fields: readonly NamedField[]): string | undefined {
  const isTime = (value: unknown) => (readTime(value) ?? 0) > EARLIEST;
  const isAddress = (value: unknown) => canonicalIp(textOf(value)?.split(',')[0]) !== undefined;
  const fits = field === 'time' ? isTime : field === 'ip' ? isAddress : () => false;
  return fields.find(([, value]) => fits(value))?.[0];
}

/** Returns the first field of a line that can have the address from which a proxy received a request. */
export function forwardedField(fields: readonly NamedField[]): string | undefined {
  const named = fields.filter(([name]) => /forwarded|real.?ip|connecting.?ip|client.?ip/i.test(name));
  const isPublic = (address: string) => {
    const ip = canonicalIp(address.trim());
    return ip !== undefined && !isPrivate(ip);
  };
  return named.find(([, value]) => textOf(value)?.split(',').some(isPublic))?.[0];
}
