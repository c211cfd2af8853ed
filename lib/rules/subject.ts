import { createHash } from 'node:crypto';
import { isFields } from '../contracts/fields.js';
import type { ExceptedSubject } from '../contracts/rule-source.js';

/**
 * The subject of a counter, in hits, keys and caches: one value, or a list if `by` is a list. It is bounded: each long
 * part is a digest.
 */
export type Subject = string | readonly string[];

/** Maximum length of a part. */
const LONGEST = 64;

/** Maximum number of parts of a list, and maximum length of all together. */
const MOST_PARTS = 8;

const LONGEST_LIST = 256;

/** The first character of a digest. A part of a request that begins with it becomes a digest itself. */
const MARKER = '#';

const MARKER_CODE = MARKER.charCodeAt(0);

/** Length of a digest: the marker and 128 bits in hex. The first characters of the part follow. */
const DIGEST_LENGTH = 33;

const LONGEST_HEAD = 8;

/** V8 copies shorter slices. A longer one is a reference to the whole string, which it keeps in memory. */
const SHORTEST_REFERENCE = 13;

/**
 * Returns a part of a subject as it is counted, compared and kept: a part of more than 64 UTF-16 units is replaced by its
 * digest and its first characters. So is a part that looks like a digest: a client cannot send the digest of another.
 */
export function boundedPart(part: string): string {
  if (part.length <= LONGEST && part.charCodeAt(0) !== MARKER_CODE) return part;
  return digest('text', part) + part.slice(0, LONGEST_HEAD).replace(/[\ud800-\udbff]$/, '');
}

/** Returns a list of bounded parts as it is counted; a list that is too long as the digest of the whole. */
export function boundedList(parts: readonly string[]): readonly string[] {
  let length = 0;
  for (const part of parts) length += part.length;
  return parts.length <= MOST_PARTS && length <= LONGEST_LIST ? parts : [digest('tuple', joined(parts))];
}

/** Joins the parts of a list, each after its length, so that different lists have different texts. */
export function joined(parts: readonly string[], encode = (part: string): string => part): string {
  let text = '';
  for (const part of parts) {
    const encoded = encode(part);
    text += `${text === '' ? '' : '|'}${encoded.length}|${encoded}`;
  }
  return text;
}

/** Returns the digest in a part of a subject, without the first characters; `undefined` if it is none. */
export function digestIn(part: string): string | undefined {
  return part.startsWith(MARKER) ? part.slice(0, DIGEST_LENGTH) : undefined;
}

/** Returns the part that is a digest in hex and the first characters of its text, if known; `undefined` for other values. */
export function partOfDigest(hex: unknown, head: unknown = ''): string | undefined {
  const isDigest = typeof hex === 'string' && /^[0-9a-f]{32}$/.test(hex);
  return isDigest && typeof head === 'string' && head.length <= LONGEST_HEAD
    ? MARKER + hex + head
    : undefined;
}

/** Returns the digest of a text: `#` and 128 bits of its SHA-256. UTF-16, not UTF-8, which has no lone surrogates. */
export function digest(kind: 'text' | 'tuple', text: string): string {
  const hash = createHash('sha256').update(`${kind}:`).update(text, 'utf16le').digest('hex');
  return MARKER + hash.slice(0, DIGEST_LENGTH - MARKER.length);
}

/**
 * Returns a copy of a subject, of a list as it is. A subject is often a slice of a URL, a header or a body, which a cache
 * would keep in memory with the slice.
 *
 * @param key the key of the subject, a new string, of which a plain subject is a part
 * @param at where the subject is in the key
 */
export function copyOf(subject: Subject, key: string, at: number): Subject {
  if (typeof subject !== 'string') return subject;
  if (subject.length < SHORTEST_REFERENCE) return subject;
  const copy = key.slice(at, at + subject.length);
  return copy === subject ? copy : copyOfText(subject);
}

/** Returns a copy of a text: a slice of a new string. */
export function copyOfText(text: string): string {
  return text.length < SHORTEST_REFERENCE ? text : ` ${text}`.slice(1);
}

/**
 * Stands for a subject of more than 64 characters, for the value of a header, or for such a part of a list, in events.
 * Operations accept it instead of the subject.
 *
 * @example
 * events.on('decision', ({ subjects: [subject] }) => limits.block('login', subject, '1h'), { only: 'denied' });
 */
export class SubjectDigest {
  /** The first characters of the subject: at most 8, and none of a header. */
  readonly head: string;
  /** 128 bits of its SHA-256, in hex. */
  readonly digest: string;
  readonly #part: string;

  /** @internal */
  constructor(part: string) {
    this.head = part.slice(DIGEST_LENGTH);
    this.digest = digestIn(part)!.slice(1);
    this.#part = part;
  }

  /** Returns the first characters and the digest: `ann.smit…#1f2e3d…`. */
  toString(): string {
    return `${this.head}…#${this.digest}`;
  }

  /**
   * Returns the part that a value stands for; `undefined` if it is no digest. Clients cannot send one: it is recognized by
   * its class, not by its fields.
   *
   * @internal
   */
  static partOf(value: unknown): string | undefined {
    return typeof value === 'object' && value !== null && #part in value ? value.#part : undefined;
  }
}

/** A subject in events: a value, or a list if `by` is a list. A digest stands for a long value. */
export type EventSubject = string | SubjectDigest | readonly (string | SubjectDigest)[];

/** The subject in a call: an IP, a user id, an API key, or the digest of an event; a list for a list in `by`. */
export type SubjectValue = string | number | SubjectDigest | readonly (string | number | SubjectDigest)[];

/** The subjects that programs may pass, in words for error messages. */
export const SUBJECT_ALLOWED =
  'a string that is not empty, a number, the digest of an event, or a list of these';

/** Returns a subject as events and operations have it. */
export function subjectForPrograms(subject: Subject): EventSubject {
  return typeof subject === 'string' ? partForPrograms(subject) : subject.map(partForPrograms);
}

function partForPrograms(part: string): string | SubjectDigest {
  return digestIn(part) === undefined ? part : new SubjectDigest(part);
}

/** Returns a subject that a program passes as it is counted; `undefined` if it is none. */
export function subjectFromProgram(given: unknown): Subject | undefined {
  if (!Array.isArray(given)) return partFromProgram(given);
  const parts = Array.from(given, partFromProgram); // A list with holes has none of them in `map`.
  return parts.length > 0 && parts.every((part) => part !== undefined) ? boundedList(parts) : undefined;
}

function partFromProgram(given: unknown): string | undefined {
  if (typeof given === 'string') return boundedPart(given);
  return Number.isFinite(given) ? String(given) : SubjectDigest.partOf(given);
}

/** Returns the subject of an exception as programs pass it: a source holds a digest as an object with its fields. */
export function subjectFromSource(subject: ExceptedSubject): SubjectValue {
  return Array.isArray(subject) ? subject.map(partFromSource) : partFromSource(subject);
}

function partFromSource(part: unknown): string | number | SubjectDigest {
  const digest = isFields(part) ? partOfDigest(part['digest'], part['head']) : undefined;
  return digest === undefined ? (part as string | number) : new SubjectDigest(digest);
}
