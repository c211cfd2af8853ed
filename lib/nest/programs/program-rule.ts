import { isDeepStrictEqual } from 'node:util';
import type { Duration } from '../../contracts/duration.js';
import { isFields } from '../../contracts/fields.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import type { Cost } from '../../rules/cost.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { Operation } from '../../limiter/operation.js';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../../rules/rule-hit.js';
import type { Subject } from '../../rules/subject.js';
import { subjectForPrograms, type SubjectValue } from '../../rules/subject-digest.js';
import type { Exceptions } from '../request/exceptions.js';
import { dynamicFields, sampleOf } from '../request/per-request-rule.js';
import { programSubject, type ProgramSubject } from './program-subject.js';
import { withLayer } from '../rules/live-layer.js';
import type { By } from '../rules/route-rule.js';
import type { RuleFields } from '../rules/rule-layers.js';

/** Operations that need only keys, not a limit. */
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
   * @param replaced the rule that a live change has replaced
   * @throws RateLimitConfigError if the rule is invalid
   */
  constructor(
    private readonly fields: RuleFields,
    by: By | readonly By[] | undefined,
    private readonly path: string,
    private readonly key: (rule: CompiledRule) => KeyedRule,
    private readonly exceptions?: Exceptions,
    private readonly replaced?: ProgramRule,
  ) {
    this.subjectOf = programSubject(by, (fields['ipv6Prefix'] as number | undefined) ?? 64, path);
    this.dynamic = [...dynamicFields(fields), ...(fields['plan'] === undefined ? [] : ['plan'])];
    this.keyed = key(sampleOf(fields, path));
  }

  /** @throws RateLimitConfigError if the subject is invalid, or the operation needs a field that depends on a request */
  hits(operation: Operation, subject: SubjectValue, cost: Cost | undefined): readonly RuleHit[] {
    if (this.dynamic.length > 0 && !OF_ANY_LIMIT.includes(operation)) {
      throw new RateLimitConfigError([
        `${this.path}: depends on the request: ${this.dynamic.join(' and ')} given as a function`,
      ]);
    }
    return this.hitsOf(this.subjectOf(subject), cost);
  }

  /**
   * Returns a hit for each key that the rule can have for a subject: its own, those of its plans and of the subject's
   * exception, and those of the rule in the code and of the live changes that were replaced.
   *
   * @param window the window of the counters, for a rule whose window is a function
   * @throws RateLimitConfigError if the subject is invalid, or the window is a function and none is given
   */
  hitsToReset(subject: SubjectValue, window: Duration | undefined): readonly RuleHit[] {
    return this.everyHit(this.subjectOf(subject), window);
  }

  /** The same for a subject as the guard finds it. */
  everyHit(subject: Subject, window?: Duration): readonly RuleHit[] {
    const hits = [
      ...this.everyKeyed(subject, window).flatMap((rule) => rule.hits(subject, 0)),
      ...(this.replaced?.everyHit(subject, window) ?? []),
    ];
    return [...new Map(hits.map((hit) => [hit.key, hit])).values()];
  }

  private everyKeyed(subject: Subject, window: Duration | undefined): readonly KeyedRule[] {
    const { fields, path, key } = this;
    const isOpen = this.dynamic.includes('window');
    if (isOpen && window === undefined) {
      throw new RateLimitConfigError([
        `${path}: its window is a function, and each window has its own counters; name one: reset(…, { window: '1m' })`,
      ]);
    }
    const own = isOpen ? key(sampleOf({ ...fields, window }, path)) : this.keyed;
    const plans = isFields(fields['plans']) ? Object.values(fields['plans']) : [];
    const ofPlans = plans.map((plan) => key(sampleOf(withLayer(fields, plan, path).fields, path)));
    const excepted = this.exceptions?.of(subject);
    return [own, ...ofPlans, ...(excepted && excepted !== 'allow' ? [excepted] : [])];
  }

  /** Whether programs pass a subject as the guard finds it: the guard hashes values of headers. */
  isPlain(subject: Subject): boolean {
    try {
      return isDeepStrictEqual(this.subjectOf(subjectForPrograms(subject)), subject);
    } catch (error) {
      if (error instanceof RateLimitConfigError) return false;
      throw error;
    }
  }

  /** The hits of a subject as the guard finds it. */
  hitsOf(subject: Subject, cost: Cost | undefined): readonly RuleHit[] {
    const rule = this.exceptions?.of(subject) ?? this.keyed;
    return rule === 'allow' ? this.keyed.hits(subject, 0) : rule.hits(subject, cost);
  }
}
