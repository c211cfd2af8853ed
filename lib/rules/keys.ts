import { createHash, randomBytes } from 'node:crypto';
import type { Parameters } from '../contracts/algorithm.js';
import type { CompiledRule, RuleHit, Thresholds } from './compiled-rule.js';
import { digest, digestIn, joined, type Subject, copyOf, copyOfText } from './subject.js';
import { type Alerts, MOST_KEYS } from '../contracts/store.js';
import type { Clock } from '../contracts/clock.js';
import { KeyedRule, CacheLimit } from './keyed-rule.js';
import { matching } from '../contracts/options.js';
import { rejectValue } from '../contracts/rate-limit-config.error.js';

/** Allowed values of `prefix`. */
export const PREFIX = matching(
  /^[\x21-\x7a|~]{0,64}$/,
  '0 to 64 printable ASCII characters without braces and spaces',
);

const PLAIN = /^[\w.:@/+=,~*!$%&-]{1,64}$/;

/**
 * Returns the key of a rule's counter for a subject, the same in every process:
 * `rl:{203.0.113.7}:login:gcra2/60000`.
 *
 * The braces are a hash tag: Redis Cluster keeps all counters of a subject on one node. The end of the key is what gives
 * the state its meaning (`stateNameOf`).
 *
 * @param head the prefix, and the brace before the subject
 */
export function keyOf(head: string, subject: Subject, tail: string): string {
  return head + encodeSubject(subject) + tail;
}

/**
 * Returns the part of the key of a counter after the subject.
 *
 * @param owner the route that the counter belongs to; absent if routes share it
 * @param instance the process that the counter belongs to; absent if processes share it
 */
export function keyTail(rule: CompiledRule, owner?: string, instance?: string, end = rule.stateName): string {
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
  return joined(subject, (part) => (part === '' ? part : encodePart(part)));
}

function encodePart(part: string): string {
  return PLAIN.test(part) ? part : (digestIn(part) ?? digest('text', part));
}

/** Returns the parameters of a subject; `undefined` if each subject of the rule has a state of its own. */
export function parametersOfSubject({ bySubject }: CompiledRule, subject: Subject): Parameters | undefined {
  if (!bySubject) return undefined;
  const text = typeof subject === 'string' ? subject : encodeSubject(subject);
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

/**
 * Returns an error message if rules that are decided together have more keys than a call may have.
 *
 * @param path the name of the rules in the message
 */
export function tooManyKeys(path: string, keys: number): string | undefined {
  if (keys <= MOST_KEYS) return undefined;
  const allowed = `at most ${MOST_KEYS}, since rules that apply together are decided by one script`;
  return `${path}: got ${keys} keys (one for each rule and trial limit, another if it has \`block\`); allowed: ${allowed}`;
}

/** Builds the keys of counters, and the hits of rules. */
export class Keys {
  /** Unique name of this process, in the keys of rules with `per: 'instance'` and in the names of leases. */
  readonly instance = randomBytes(6).toString('hex');
  private readonly head: string;
  /** Limits what all rules cache together. */
  readonly cacheLimit = new CacheLimit();
  private leases = 0;
  /** Receives each threshold, as a fraction, that a subject has crossed. */
  crossed: ((rule: CompiledRule, subject: Subject, threshold: number, remaining: number) => void) | undefined;

  /**
   * @param clock an estimate of the store's time, for rules whose parameters depend on it
   * @throws RateLimitConfigError if the prefix is invalid
   */
  constructor(
    readonly prefix: string,
    private readonly clock: Clock,
  ) {
    if (!PREFIX.accepts(prefix)) rejectValue('prefix', prefix, PREFIX.allowed);
    this.head = `${prefix}{`;
  }

  /**
   * Returns a rule, with its trial limit, that builds hits for any subject.
   *
   * @param owner the route that the counters belong to; absent if routes share them
   * @param counter name of the counters that a live change has started; absent if there are none
   */
  keyed(rule: CompiledRule, owner?: string, counter?: string): KeyedRule {
    const rules = rule.trial ? [rule, rule.trial] : [rule];
    const builders = rules.map((each) => this.builderOf(each, owner, counter));
    const isLasting = rules.every(({ algorithm, parametersAt }) => !algorithm.leases && !parametersAt);
    const hitsOf = (subject: Subject): readonly RuleHit[] => builders.map((build) => build(subject));
    return new KeyedRule(hitsOf, isLasting ? this.cacheLimit : undefined);
  }

  /** Returns a key that all processes share and that belongs to no subject. */
  shared(name: string): string {
    return `${this.prefix}{${name}}`;
  }

  private builderOf(rule: CompiledRule, route?: string, counter?: string): (subject: Subject) => RuleHit {
    const { algorithm, cost, shadow, block: duration, thresholds } = rule;
    const instance = rule.perInstance ? this.instance : undefined;
    const state = counter === undefined ? rule.stateName : `${rule.stateName}~${counter}`;
    const tail = keyTail(rule, route, instance, state);
    const ofBlock = keyTail(rule, route, instance, 'block'); // The same with another window or algorithm.
    return (subject) => {
      // Nothing but copies from here on: a key that is not a copy keeps the string that the subject is a part of.
      const copied = typeof subject === 'string' ? subject : subject.map(copyOfText);
      const key = keyOf(this.head, rule.bySubject ? rule.name : copied, tail);
      const kept = copyOf(copied, key, this.head.length);
      const ofKey = rule.bySubject ? rule.name : kept;
      return {
        rule,
        subject: kept,
        route,
        key,
        algorithm,
        parameters: this.parametersOf(rule, kept),
        block: duration === undefined ? undefined : { key: keyOf(this.head, ofKey, ofBlock), duration },
        cost,
        shadow,
        entry: undefined,
        alerts: thresholds && this.alertsOf(rule, thresholds, kept),
        lease: algorithm.leases ? `${this.instance}-${++this.leases}` : undefined,
      };
    };
  }

  private alertsOf(rule: CompiledRule, { at, ...levels }: Thresholds, subject: Subject): Alerts {
    return { ...levels, crossed: (index, left) => this.crossed?.(rule, subject, at[index]!, left) };
  }

  private parametersOf(rule: CompiledRule, subject: Subject): Parameters {
    const { parameters, parametersAt } = rule;
    if (rule.bySubject) return { ...parameters, ...parametersOfSubject(rule, subject) };
    return parametersAt === undefined ? parameters : parametersAt(this.clock());
  }
}
