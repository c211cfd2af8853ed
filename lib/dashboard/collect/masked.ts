import {
  type EventSubject,
  joined,
  type Subject,
  SubjectDigest,
  type SubjectValue,
  subjectForPrograms,
  subjectFromProgram,
  subjectFromSource,
} from '../../rules/subject.js';
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { ExceptedSubject } from '../../contracts/rule-source.js';
import type { NamedSubject } from '../snapshot.js';

/** Begins the text of a list, and of a subject that begins with this character. */
const MARKER = '\0';

/** Returns a text for a subject, another for each. It is about as long as the subject, which is bounded. */
export function subjectText(subject: Subject): string {
  if (typeof subject !== 'string') return MARKER + joined(subject);
  return subject.startsWith(MARKER) ? MARKER + subject : subject;
}

/** Returns the subject of a text. */
export function subjectOfText(text: string): Subject {
  if (!text.startsWith(MARKER)) return text;
  return text.startsWith(MARKER, 1) ? text.slice(1) : partsOf(text.slice(1));
}

/** Reads the parts of a list that `joined` has written. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const start = text.indexOf('|', at) + 1;
    const end = start + Number(text.slice(at, start - 1));
    parts.push(text.slice(start, end));
    at = end + 1;
  }
  return parts;
}

const CIPHER = 'aes-256-gcm';

const NONCE_BYTES = 12;

const TAG_BYTES = 16;

/**
 * Returns an id for a subject of a rule: the encrypted subject, the same in every process with the secret. It can be
 * read only with the secret, and only for this rule.
 */
export function subjectId(secret: string, rule: string, subject: string): string {
  const nonce = mac(secret, `nonce ${JSON.stringify([rule, subject])}`).subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, mac(secret, 'key'), nonce).setAAD(Buffer.from(rule));
  const encrypted = Buffer.concat([cipher.update(subject, 'utf16le'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url');
}

/** Returns the subject of an id; `undefined` if it is not exactly the id that `subjectId` has returned for it. */
export function subjectOfId(secret: string, rule: string, id: string): string | undefined {
  const bytes = Buffer.from(id, 'base64url');
  const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)];
  // Decoding ignores what is not base64url, such as line breaks, which must not reach a log.
  if (tag.length < TAG_BYTES || bytes.toString('base64url') !== id) return undefined;
  try {
    const decipher = createDecipheriv(CIPHER, mac(secret, 'key'), nonce);
    decipher.setAAD(Buffer.from(rule)).setAuthTag(tag);
    const encrypted = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf16le');
  } catch {
    return undefined;
  }
}

function mac(secret: string, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}

const HIDDEN = '•••';

/** Returns a subject with only its first and last characters: never its length, and at most a quarter of it. */
export function masked(subject: SubjectValue): string {
  if (Array.isArray(subject)) return subject.map(masked).join(' | ');
  if (subject instanceof SubjectDigest) {
    const { head, digest } = subject;
    return (head === '' ? `#${digest.slice(0, 4)}` : Array.from(head).slice(0, 2).join('')) + HIDDEN;
  }
  if (subject === '') return subject;
  const characters = Array.from(String(subject));
  const { length } = characters;
  if (length < 4) return HIDDEN;
  const first = characters.slice(0, length < 12 ? 1 : 2).join('');
  return length < 8 ? first + HIDDEN : first + HIDDEN + characters[length - 1]!;
}

/** Returns a subject of a rule as the page shows and names it. */
export function namedSubject(secret: string, rule: string, subject: Subject): NamedSubject {
  return {
    id: subjectId(secret, rule, subjectText(subject)),
    subject: masked(subjectForPrograms(subject)),
  };
}

/** Returns a subject as a person reads it. */
export function plainText(subject: EventSubject): string {
  return [subject].flat().map(String).join(' | ');
}

/** Returns a live rule, or a change of one, with the subject of an exception as the page shows and names it. */
export function shownLive<
  Live extends { readonly rule: string; readonly subject?: ExceptedSubject | undefined },
>(secret: string, live: Live): Omit<Live, 'subject'> & { readonly subject?: NamedSubject } {
  const { subject, ...others } = live;
  if (subject === undefined) return others;
  const counted = subjectFromProgram(subjectFromSource(subject)) ?? ''; // A source may hold what is none.
  return { ...others, subject: namedSubject(secret, live.rule, counted) };
}

/** A subject in messages about exceptions: a JSON text, a number, a digest, or a list of these. */
const SUBJECT =
  /(?<= for subject )(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]|\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}|-?\d+)/g;

/** A subject of another form than its rule counts by, as `shown` writes it: up to 80 characters and an ellipsis. */
const MISFIT = /(\bsubject of .*?: got ).{0,81}(?=; allowed: )/g;

/** What a function that finds subjects has returned, and an error of the application. */
const RETURNED = /((?:\.(?:by|subjectOf): got |: threw )).*?(?=; allowed: |\. In shadow mode)/gs;

/** Returns a message with the subjects in it masked. */
export function withMaskedSubjects(message: string): string {
  return message
    .replace(SUBJECT, maskedText)
    .replace(MISFIT, `$1"${HIDDEN}"`)
    .replace(RETURNED, `$1"${HIDDEN}"`);
}

/** The text of a client or an operator may look like a message without being JSON. */
function maskedText(text: string): string {
  try {
    return JSON.stringify(masked(subjectFromSource(JSON.parse(text) as ExceptedSubject)));
  } catch {
    return JSON.stringify(HIDDEN);
  }
}
