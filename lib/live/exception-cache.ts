import type { CompiledRule } from '../rules/compiled-rule.js';
import type { SourcedRule } from '../contracts/rule-source.js';
import { subjectFromSource } from '../rules/subject-digest.js';
import { programSubject } from '../nest/programs/program-subject.js';
import { exceptionKey, type ExceptionsBySubject } from '../nest/request/exceptions.js';
import type { By } from '../nest/rules/route-rule.js';
import type { RuleFields } from '../nest/rules/rule-layers.js';

/**
 * What the routes of a rule share: its exceptions are read and compiled once for each change, not once for each route,
 * because a module may have a thousand of both.
 */
export class ExceptionCache {
  private readonly lists = new WeakMap<readonly SourcedRule[], Map<string, ExceptionsBySubject>>();
  private readonly functions = new WeakMap<object, number>();
  private functionCount = 0;
  private compiled = new Map<string, CompiledRule>();
  private compiledBefore = new Map<string, CompiledRule>();

  /** Forgets what nothing has used since the last call. */
  turnOver(): void {
    this.compiledBefore = this.compiled;
    this.compiled = new Map();
  }

  /**
   * Returns exceptions by subject.
   *
   * @throws RateLimitConfigError if a subject does not fit `by`
   */
  bySubject(
    exceptions: readonly SourcedRule[],
    by: By | readonly By[] | undefined,
    ipv6Prefix: number,
    path: string,
  ): ExceptionsBySubject {
    const lists = this.lists.get(exceptions) ?? new Map<string, ExceptionsBySubject>();
    this.lists.set(exceptions, lists);
    const counted = this.textOf([by, ipv6Prefix]);
    const known = lists.get(counted);
    if (known) return known;
    const subjectOf = programSubject(by, ipv6Prefix, path);
    const list = new Map(
      exceptions.map((each) => [exceptionKey(subjectOf(subjectFromSource(each.subject!))), each]),
    );
    lists.set(counted, list);
    return list;
  }

  /**
   * Returns the compiled form of an exception of a rule.
   *
   * @param rule the text of the rule, see `textOf`
   * @param compile called if it is not known
   */
  compile(rule: string, exception: SourcedRule['fields'], compile: () => CompiledRule): CompiledRule {
    const text = `${rule} ${JSON.stringify(exception)}`;
    const compiled = this.compiled.get(text) ?? this.compiledBefore.get(text) ?? compile();
    this.compiled.set(text, compiled);
    return compiled;
  }

  /** Returns a text that is equal for values that decide equally. */
  textOf(value: RuleFields | readonly unknown[]): string {
    return JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'function' ? `function ${this.numberOf(part)}` : part,
    );
  }

  private numberOf(part: object): number {
    const known = this.functions.get(part);
    if (known !== undefined) return known;
    this.functions.set(part, (this.functionCount += 1));
    return this.functionCount;
  }
}
