import type { CompiledRule } from '../../rules/compiled-rule.js';
import type { SubjectValue } from '../../rules/key.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { Operation } from '../../limiter/operation.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../../rules/rule-hit.js';
import { dynamicFields, sampleOf } from '../request/per-request-rule.js';
import { programSubject, type ProgramSubject } from './program-subject.js';
import type { By } from '../rules/route-rule.js';
import type { RuleFields } from '../rules/rule-layers.js';

/** These need only the place of a counter, not its limit. */
const OF_ANY_LIMIT: readonly Operation[] = ['block', 'reset'];

/** A rule of the module, or of a route, as programs use it: without a request. */
export class ProgramRule {
  private readonly subjectOf: ProgramSubject;
  private readonly keyed: KeyedRule;
  /** The fields that are functions of a request. */
  private readonly dynamic: readonly string[];

  /**
   * @param by what the rule says in `by`; `undefined` if any subject may come
   * @param path what a message calls the rule
   * @throws RateLimitConfigError if the rule is wrong
   */
  constructor(
    fields: RuleFields,
    by: By | readonly By[] | undefined,
    private readonly path: string,
    keyed: (rule: CompiledRule) => KeyedRule,
  ) {
    this.subjectOf = programSubject(by, (fields['ipv6Prefix'] as number | undefined) ?? 64, path);
    this.dynamic = dynamicFields(fields);
    this.keyed = keyed(sampleOf(fields, path));
  }

  /** @throws RateLimitConfigError if there is no such subject, or the operation needs what depends on a request */
  hits(operation: Operation, subject: SubjectValue, cost: number | undefined): readonly RuleHit[] {
    if (this.dynamic.length > 0 && !OF_ANY_LIMIT.includes(operation)) {
      throw new RateLimitConfigError([
        `${this.path}: depends on the request: ${this.dynamic.join(' and ')} given as a function`,
      ]);
    }
    return this.keyed.hits(this.subjectOf(subject), cost);
  }
}
