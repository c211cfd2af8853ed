import { rejectValue } from '../../contracts/rate-limit-config.error.js';
import { ipSubjectOf } from '../../http/client-ip.js';
import { EVERYONE, headerSubjectOf, userSubjectOf } from '../../http/subject.js';
import {
  boundedList,
  boundedPart,
  partOfDigest,
  type Subject,
  SubjectDigest,
  type SubjectValue,
} from '../../rules/subject.js';
import { addressHeaderOf, headerOf } from './by.js';
import type { By, CountedBy } from './route-rule.js';

/** Returns the subject with which the guard counts requests of the client that a program's value identifies. */
export type ProgramSubject = (given: SubjectValue) => Subject;

interface PartReader {
  readonly allowed: string;
  readonly read: (given: string | number) => string | undefined;
  /** Whether the guard counts by values that may be long. Events have the digests of such values. */
  readonly isText?: boolean;
}

/**
 * Returns the function that reads the subjects of programs for the option `by`. A list of an empty part and
 * an IP is the subject of requests without the rule's own subject.
 *
 * @param by the option of the rule; `undefined`: an IP if the value is one, or the value
 * @param path the name of the rule in messages
 */
export function programSubject(by: CountedBy | undefined, ipv6Prefix: number, path: string): ProgramSubject {
  const readers = (Array.isArray(by) ? by : [by]).map((part: By | undefined) => readerOf(part, ipv6Prefix));
  const fallback = readerOf('ip', ipv6Prefix);
  const isTuple = Array.isArray(by);
  return (given) => {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (values.length === 2 && values[0] === '') {
      const ip = values[1] === EVERYONE ? EVERYONE : readPart(values[1], fallback);
      if (ip !== undefined) return ['', ip];
    }
    const parts = readers.map((reader, index) => readPart(values[index], reader));
    const isForm = isTuple ? values.length === readers.length : !Array.isArray(given);
    if (isForm && parts.every((part) => part !== undefined)) {
      return isTuple ? boundedList(parts) : parts[0]!;
    }
    const whole = isTuple && values.length === 1 ? SubjectDigest.partOf(values[0]) : undefined;
    if (whole !== undefined) return [whole];
    const allowed = readers.map((reader) => reader.allowed).join(', ');
    rejectValue(`subject of ${path}`, given, isTuple ? `a list of ${allowed}` : allowed);
  };
}

function readPart(given: unknown, { read, isText = false }: PartReader): string | undefined {
  if (typeof given !== 'string' && !Number.isFinite(given)) {
    return isText ? SubjectDigest.partOf(given) : undefined;
  }
  return read(given as string | number);
}

/** Returns what reads a part of subjects that is counted by an option `by`. */
export function readerOf(by: By | undefined, ipv6Prefix: number): PartReader {
  const ip = (given: string | number): string | undefined => ipSubjectOf(String(given), ipv6Prefix);
  const text = (allowed: string, read: PartReader['read']): PartReader => ({ allowed, read, isText: true });
  if (by === undefined) return text('a string or a number', (given) => ip(given) ?? bounded(String(given)));
  if (by === 'ip' || addressHeaderOf(by) !== undefined) return { allowed: 'an IP address', read: ip };
  if (by === 'user') return text('the id of a user', (given) => bounded(userSubjectOf(given)));
  if (by === 'everyone') {
    const read = (given: unknown) => (given === EVERYONE ? EVERYONE : undefined);
    return { allowed: `"${EVERYONE}", since the rule counts all together`, read };
  }
  const header = headerOf(by);
  if (header === undefined) return text('what its function returns', (given) => bounded(String(given)));
  const hash = headerSubjectOf(header);
  return text(`the value of the header ${header}`, (given) => partOfDigest(hash(String(given))));
}

function bounded(text: string | undefined): string | undefined {
  return text ? boundedPart(text) : undefined;
}
