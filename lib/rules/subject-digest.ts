import { isFields } from '../contracts/fields.js';
import type { ExceptedSubject } from '../contracts/rule-source.js';
import { boundedList, boundedPart, digestIn, headIn, partOfDigest, type Subject } from './subject.js';

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
    this.head = headIn(part);
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
  const parts = given.map(partFromProgram);
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
