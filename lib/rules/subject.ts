import { createHash } from 'node:crypto';

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

/** Returns the first characters of a part that is a digest. */
export function headIn(part: string): string {
  return part.slice(DIGEST_LENGTH);
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
