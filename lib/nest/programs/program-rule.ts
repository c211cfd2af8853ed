import { isDeepStrictEqual } from 'node:util';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import type { Subject, SubjectValue } from '../../rules/key.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { Operation } from '../../limiter/operation.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../../rules/rule-hit.js';
import type { Exceptions } from '../request/exceptions.js';
import { dynamicFields, sampleOf } from '../request/per-request-rule.js';
import { programSubject, type ProgramSubject } from './program-subject.js';
import type { By } from '../rules/route-rule.js';
import type { RuleFields } from '../rules/rule-layers.js';

/** Operations that need only the key of a counter, not its limit. */
const OF_ANY_LIMIT: readonly Operation[] = ['block', 'reset'];

/** A rule of the module or of a route, for use by programs, without a request. */
export class ProgramRule {
  private readonly subjectOf: ProgramSubject;
  private readonly keyed: KeyedRule;
  /** The fields that are functions of a request. */
  readonly dynamic: readonly string[];

  /**
   * @param by the option `by` of the rule; `undefined` if any subject is allowed
   * @param path the name of the rule in messages
   * @throws RateLimitConfigError if the rule is invalid
   */
  constructor(
    fields: RuleFields,
    by: By | readonly By[] | undefined,
    private readonly path: string,
    keyed: (rule: CompiledRule) => KeyedRule,
    private readonly exceptions?: Exceptions,
  ) {
    this.subjectOf = programSubject(by, (fields['ipv6Prefix'] as number | undefined) ?? 64, path);
    this.dynamic = [...dynamicFields(fields), ...(fields['plan'] === undefined ? [] : ['plan'])];
    this.keyed = keyed(sampleOf(fields, path));
  }

  /** @throws RateLimitConfigError if the subject is invalid, or the operation needs a field that depends on a request */
  hits(operation: Operation, subject: SubjectValue, cost: number | undefined): readonly RuleHit[] {
    if (this.dynamic.length > 0 && !OF_ANY_LIMIT.includes(operation)) {
      throw new RateLimitConfigError([
        `${this.path}: depends on the request: ${this.dynamic.join(' and ')} given as a function`,
      ]);
    }
    return this.hitsOf(this.subjectOf(subject), cost);
  }

  /** Whether programs pass a subject as the guard finds it: the guard hashes values of headers. */
  isPlain(subject: Subject): boolean {
    try {
      return isDeepStrictEqual(this.subjectOf(subject), subject);
    } catch (error) {
      if (error instanceof RateLimitConfigError) return false;
      throw error;
    }
  }

  /** The hits of a subject as the guard finds it. */
  hitsOf(subject: Subject, cost: number | undefined): readonly RuleHit[] {
    const rule = this.exceptions?.of(subject) ?? this.keyed;
    return rule === 'allow' ? this.keyed.hits(subject, 0) : rule.hits(subject, cost);
  }
}
