import { createHash } from 'node:crypto';
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
 * The name of a rule's counter for a subject, the same on every process:
 * `rl:{203.0.113.7}:login:gcra`.
 *
 * The braces make Redis Cluster keep all counters of one subject on one node. A rule that changes
 * its algorithm starts a new counter, since the old one's state means nothing to it.
 */
export function keyOf(head: string, subject: Subject, tail: string): string {
  return head + spellSubject(subject) + tail;
}

/** The part of the key in front of the subject, made once. */
export function keyHead(prefix: string): string {
  return `${prefix}{`;
}

/**
 * The part of the key that is the rule's, made once.
 *
 * @param owner the route that the counter belongs to, absent if it is shared
 * @param instance the process that the counter belongs to, absent if it is the cluster's
 */
export function keyTail(rule: CompiledRule, owner?: string, instance?: string): string {
  const { trialOf } = rule;
  const name = trialOf === undefined ? escape(rule.name) : `${escape(trialOf)}?`;
  const route = owner === undefined ? name : `${name}@${escape(owner)}`;
  return `}:${route}:${rule.algorithm.name}${instance === undefined ? '' : `:${instance}`}`;
}

/**
 * A subject in characters that are safe in a key, and never two subjects alike: short plain text as
 * it is; a tuple with the length of each part; anything else as 128 bits of its SHA-256 behind `#`,
 * a character that plain text cannot have, as the tuple's `|`.
 */
export function spellSubject(subject: Subject): string {
  if (typeof subject === 'string') return PLAIN.test(subject) ? subject : digest('text', subject);
  const tuple = subject.map((part) => `${part.length}|${part}`).join('|');
  return tuple.length <= 64 && subject.every((part) => part === '' || PLAIN.test(part))
    ? tuple
    : digest('tuple', tuple);
}

/** UTF-16, not UTF-8, so that lone surrogates stay distinct. */
function digest(kind: 'text' | 'tuple', text: string): string {
  return `#${createHash('sha256').update(`${kind}:`).update(text, 'utf16le').digest('hex').slice(0, 32)}`;
}

/** Without the characters that part a key. */
function escape(name: string): string {
  return name.replace(/[%:@?{}]/g, encodeURIComponent);
}
