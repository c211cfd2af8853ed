import { createHash } from 'node:crypto';
import { canonicalIp } from '../../http/client-ip.js';

/** Maximum length of a part of a subject, in characters. */
const LONGEST = 512;

/** Returns the value of a field of a log line; `undefined` if there is none. */
export type Lookup<Line> = (line: Line) => unknown;

/** Returns the subject of a line; `undefined` if it has none. */
export type SubjectOf<Line> = (line: Line) => string | undefined;

/**
 * Returns a function that builds the subject of a line from the fields in `--by`, as the guard does: IPv6 addresses are
 * masked to their network, and several fields are one subject.
 */
export function subjectFrom<Line>(
  by: readonly string[],
  lookup: (field: string) => Lookup<Line>,
): SubjectOf<Line> {
  const parts = by.map((field) => partFrom(field, lookup(field)));
  const [first] = parts;
  if (parts.length === 1) return first!;
  return (line) => {
    const values: string[] = [];
    for (const part of parts) {
      const value = part(line);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return values.join(', ');
  };
}

function partFrom<Line>(field: string, find: Lookup<Line>): SubjectOf<Line> {
  if (field === 'everyone') return () => 'everyone';
  const convert = field === 'ip' ? clientOf : field === 'path' ? pathOf : (text: string) => text;
  return (line) => {
    const text = textOf(find(line));
    return text === undefined || text === '' || text === '-' ? undefined : shortened(convert(text));
  };
}

/** Returns the text of a value; of a list, that of its first element. */
function textOf(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === 'string') return first;
  return typeof first === 'number' || typeof first === 'boolean' ? String(first) : undefined;
}

/** Returns the canonical IP; a host name, which servers can log instead, unchanged. */
function clientOf(text: string): string {
  return text.includes(':') ? (canonicalIp(text) ?? text) : text;
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
