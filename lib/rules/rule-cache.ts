import { isDeepStrictEqual } from 'node:util';
import { isFields, pickFields } from '../contracts/fields.js';
import { shown } from '../contracts/shown.js';
import { compileRule } from './compile-rule.js';
import type { Cost, RuleHit, CompiledRule } from './compiled-rule.js';
import { tooManyKeys } from './keys.js';
import { rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import type { KeyedRule } from './keyed-rule.js';
import { DEFAULT_RULE_NAME, type AnyRule } from './rule.js';
import { type Subject, SUBJECT_ALLOWED, subjectFromProgram, type SubjectValue } from './subject.js';

/** How many rules without a name are compared. */
const MOST_UNNAMED = 100;

const RULE_ALLOWED = 'an object with fields of a rule, or with RateLimitService the name of a rule';

/** The rules that programs pass. Each rule object is checked and compiled once. */
export class RuleCache {
  private readonly compiled = new WeakMap<AnyRule, KeyedRule>();
  /** The first rules without a name, by what they would share: a counter or a block. */
  private readonly unnamed = new Map<string, AnyRule>();
  private hasWarned = false;

  /** @param create called once for each rule, see `RateLimiter.keyed` */
  constructor(private readonly create: (compiled: CompiledRule, rule: AnyRule) => KeyedRule) {}

  /**
   * Returns the hits of a subject on one or several rules.
   *
   * @param cost a cost that was checked before
   * @throws RateLimitConfigError if a rule or the subject is invalid, or two rules of the list have the same
   *   name
   */
  hits(rules: AnyRule | readonly AnyRule[], given: SubjectValue, cost?: Cost): readonly RuleHit[] {
    const subject = readSubject(given);
    if (!isList(rules)) return this.keyed(rules).hits(subject, cost);
    const hits = new Array<RuleHit>();
    for (const rule of rules) {
      for (const hit of this.keyed(rule).hits(subject, cost)) hits.push(hit);
    }
    checkTogether(hits);
    return hits;
  }

  /** Returns a rule, with its trial limit, that builds hits for any subject. */
  private keyed(rule: AnyRule): KeyedRule {
    const known = this.compiled.get(rule);
    if (known) return known;
    if (!isFields(rule)) rejectValue('rule', rule, RULE_ALLOWED);
    const compiled = compileRule(rule);
    this.warnOfSecondUnnamed(rule, compiled);
    const keyed = this.create(compiled, rule);
    this.compiled.set(rule, keyed);
    return keyed;
  }

  /** Warns once if different rules without a name have the key of one counter, or of one block. */
  private warnOfSecondUnnamed(rule: AnyRule, { stateName, perInstance, block }: CompiledRule): void {
    if (rule.name !== undefined || this.hasWarned) return;
    const shared = [[stateName, 'on one counter'], ...(block === undefined ? [] : [['', 'with one block']])];
    for (const [part, how] of shared) {
      const key = `${part!} ${perInstance}`;
      const first = this.unnamed.get(key);
      if (!first && this.unnamed.size < MOST_UNNAMED) this.unnamed.set(key, rule);
      if (!first || isDeepStrictEqual(pickFields(first), pickFields(rule))) continue;
      this.hasWarned = true;
      process.emitWarning(
        `Rate limit rules without a name: got ${shown(rule)} and ${shown(first)}: both count as "${DEFAULT_RULE_NAME}", ` +
          `${how!}. Give each a name.`,
        'RateLimitWarning',
      );
      return;
    }
  }
}

function isList(rules: AnyRule | readonly AnyRule[]): rules is readonly AnyRule[] {
  return Array.isArray(rules);
}

/** @throws RateLimitConfigError if these hits cannot be decided together */
export function checkTogether(hits: readonly RuleHit[]): void {
  const names = hits.map(({ rule }) => rule.name);
  const isSecond = (name: string, index: number): boolean => names.indexOf(name) < index;
  if (names.length === 0 || names.some(isSecond)) {
    rejectValue('rules', names, 'one rule or more, each of another name');
  }
  let keys = hits.length;
  for (const { block } of hits) if (block) keys += 1;
  const wrong = tooManyKeys('rules', keys);
  if (wrong !== undefined) rejectConfig(wrong);
}

/**
 * Returns the subject for a value that a program passes. The value is checked at run time, since it often
 * comes from an untyped request.
 *
 * @throws RateLimitConfigError if it is not a subject
 */
export function readSubject(given: SubjectValue): Subject {
  const subject = given === '' ? undefined : subjectFromProgram(given);
  if (subject !== undefined) return subject;
  rejectValue('subject', given, SUBJECT_ALLOWED);
}
