import type { Subject } from '../../rules/key.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';

/** The rules of single subjects instead of a rule: a rule, or `'allow'` for none. */
export class Exceptions {
  private readonly rules = new Map<string, KeyedRule | 'allow'>();

  add(subject: Subject, rule: KeyedRule | 'allow'): void {
    this.rules.set(entryOf(subject), rule);
  }

  /** The exception of a subject; `undefined` if it has none. */
  of(subject: Subject): KeyedRule | 'allow' | undefined {
    return this.rules.get(entryOf(subject));
  }
}

/** A client that chooses its subject cannot write the entry of a list. */
function entryOf(subject: Subject): string {
  return typeof subject === 'string' ? `=${subject}` : JSON.stringify(subject);
}
