import { createHash } from 'node:crypto';
import type { Parameters } from '../contracts/algorithm.js';
import type { CompiledRule } from './compiled-rule.js';
import { digest, digestIn, joined, type Subject } from './subject.js';

/** Allowed values of `prefix`. */
export const PREFIX = {
  allowed: '0 to 64 printable ASCII characters without braces and spaces',
  accepts: (value: unknown): boolean => typeof value === 'string' && /^[\x21-\x7a|~]{0,64}$/.test(value),
};

const PLAIN = /^[\w.:@/+=,~*!$%&-]{1,64}$/;

/**
 * Returns the key of a rule's counter for a subject, the same in every process:
 * `rl:{203.0.113.7}:login:gcra2/60000`.
 *
 * The braces are a hash tag: Redis Cluster keeps all counters of a subject on one node. The end of the key is what gives
 * the state its meaning (`stateNameOf`).
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
 * Returns the part of the key of a counter after the subject.
 *
 * @param owner the route that the counter belongs to; absent if routes share it
 * @param instance the process that the counter belongs to; absent if processes share it
 * @param counter name of the counters that a live change has started; absent if there are none
 */
export function keyTail(rule: CompiledRule, owner?: string, instance?: string, counter?: string): string {
  const state = counter === undefined ? rule.stateName : `${rule.stateName}~${counter}`;
  return tailOf(rule, owner, state, instance);
}

/** Returns the same part of the key of a block: a rule with another window or algorithm has the same blocks. */
export function blockTail(rule: CompiledRule, owner?: string, instance?: string): string {
  return tailOf(rule, owner, 'block', instance);
}

function tailOf(rule: CompiledRule, owner: string | undefined, end: string, instance?: string): string {
  const { trialOf } = rule;
  const name = trialOf === undefined ? escape(rule.name) : `${escape(trialOf)}?`;
  const route = owner === undefined ? name : `${name}@${escape(owner)}`;
  return `}:${route}:${end}${instance === undefined ? '' : `:${instance}`}`;
}

/**
 * Encodes a bounded subject in characters that are safe in a key. Different subjects have different encodings: plain text
 * is unchanged, any other text is a digest (`#` and 128 bits of its SHA-256), a list has the length of each part,
 * followed by `|`. Plain text contains neither `#` nor `|`.
 */
export function encodeSubject(subject: Subject): string {
  if (typeof subject === 'string') return encodePart(subject);
  return joined(subject, encodePartOfList);
}

function encodePartOfList(part: string): string {
  return part === '' ? part : encodePart(part);
}

function encodePart(part: string): string {
  return PLAIN.test(part) ? part : (digestIn(part) ?? digest('text', part));
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

/** Escapes the characters that separate the parts of a key. */
function escape(name: string): string {
  return name.replace(/[%:@?{}]/g, encodeURIComponent);
}
