import type { SourcedRule } from '../../contracts/rule-source.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { Subject } from '../../rules/subject.js';

/** The exceptions of a rule by subject, see `exceptionKey`. */
export type ExceptionsBySubject = ReadonlyMap<string, SourcedRule>;

/**
 * The rules of single subjects instead of a rule: a rule, or `'allow'` for none. All routes share one list of exceptions;
 * a route gets the rule of a subject with the first request of the subject.
 */
export class Exceptions {
  private readonly rules = new Map<SourcedRule, KeyedRule | 'allow'>();

  constructor(
    private readonly bySubject: ExceptionsBySubject,
    private readonly ruleOf: (exception: SourcedRule) => KeyedRule | 'allow',
  ) {}

  /** The exception of a subject; `undefined` if it has none. */
  of(subject: Subject): KeyedRule | 'allow' | undefined {
    const exception = this.bySubject.get(exceptionKey(subject));
    if (!exception) return undefined;
    const known = this.rules.get(exception);
    if (known) return known;
    const rule = this.ruleOf(exception);
    this.rules.set(exception, rule);
    return rule;
  }
}

/** Returns the key of a subject's exception. A text never has the key of a list. */
export function exceptionKey(subject: Subject): string {
  return typeof subject === 'string' ? `=${subject}` : JSON.stringify(subject);
}
