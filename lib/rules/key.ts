import { createHash } from 'node:crypto';
import type { Parameters } from '../contracts/algorithm.js';
import type { CompiledRule } from './compiled-rule.js';

/** The subject in keys and events: one value, or a list if `by` is a list. */
export type Subject = string | readonly string[];

/** Allowed values of `prefix`. */
export const PREFIX = {
  allowed: '0 to 64 printable ASCII characters without braces and spaces',
  accepts: (value: unknown): boolean => typeof value === 'string' && /^[\x21-\x7a|~]{0,64}$/.test(value),
};

/** The subject in a call: an IP, a user id, an API key; a list for a list in `by`. */
export type SubjectValue = string | number | readonly (string | number)[];

const PLAIN = /^[\w.:@/+=,~*!$%&-]{1,64}$/;

/**
 * Returns the key of a rule's counter for a subject, the same in every process:
 * `rl:{203.0.113.7}:login:gcra`.
 *
 * The braces are a hash tag: Redis Cluster keeps all counters of a subject on one node. The key contains the algorithm,
 * since an algorithm cannot read the state of another.
 */
export function keyOf(head: string, subject: Subject, tail: string): string {
  return head + encodeSubject(subject) + tail;
}

/** Returns the name of a subject in the state of a rule that keeps all subjects in one. */
export function subjectText(subject: Subject): string {
  return typeof subject === 'string' ? subject : encodeSubject(subject);
}

/** Returns the part of a key before the subject. */
export function keyHead(prefix: string): string {
  return `${prefix}{`;
}

/**
 * Returns the part of a key after the subject.
 *
 * @param owner the route that the counter belongs to; absent if routes share it
 * @param instance the process that the counter belongs to; absent if processes share it
 * @param counter name of the counters that a live change has started; absent if there are none
 */
export function keyTail(rule: CompiledRule, owner?: string, instance?: string, counter?: string): string {
  const { trialOf } = rule;
  const name = trialOf === undefined ? escape(rule.name) : `${escape(trialOf)}?`;
  const route = owner === undefined ? name : `${name}@${escape(owner)}`;
  const algorithm = counter === undefined ? rule.algorithm.name : `${rule.algorithm.name}~${counter}`;
  return `}:${route}:${algorithm}${instance === undefined ? '' : `:${instance}`}`;
}

/**
 * Encodes a subject in characters that are safe in a key. Different subjects have different encodings: short plain text
 * is unchanged; a list has the length of each part, followed by `|`; any other subject is encoded as `#` and 128 bits of
 * its SHA-256. Plain text contains neither `#` nor `|`.
 */
export function encodeSubject(subject: Subject): string {
  if (typeof subject === 'string') return PLAIN.test(subject) ? subject : digest('text', subject);
  const tuple = subject.map((part) => `${part.length}|${part}`).join('|');
  return tuple.length <= 64 && subject.every((part) => part === '' || PLAIN.test(part))
    ? tuple
    : digest('tuple', tuple);
}

/** Returns the parameters of a subject; `undefined` if each subject of the rule has a state of its own. */
export function parametersOfSubject({ bySubject }: CompiledRule, subject: Subject): Parameters | undefined {
  if (!bySubject) return undefined;
  const text = subjectText(subject);
  return bySubject(text, subjectNumber(text));
}

/** Digits of a hash that a double represents exactly, in hex. */
const DIGITS = 13;

/** Returns the number of a subject within the state of its rule: 52 bits of the SHA-256 of its text, from 1. */
export function subjectNumber(text: string): number {
  const hash = createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, DIGITS);
  return Math.max(1, parseInt(hash, 16));
}

/** UTF-16, not UTF-8, so that lone surrogates stay distinct. */
function digest(kind: 'text' | 'tuple', text: string): string {
  return `#${createHash('sha256').update(`${kind}:`).update(text, 'utf16le').digest('hex').slice(0, 32)}`;
}

/** Escapes the characters that separate the parts of a key. */
function escape(name: string): string {
  return name.replace(/[%:@?{}]/g, encodeURIComponent);
}
