import type { RuleHit, CompiledRule } from '../../rules/compiled-rule.js';
import type { Exchange } from './exchange.js';
import { problem } from '../../contracts/rate-limit-config.error.js';
import { algorithmOf } from '../../rules/rule-fields.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { HttpRequest } from '../../http/subject.js';
import { allowListOf } from '../../http/client-ip.js';
import { sourcesOf, type SubjectSources } from '../rules/by.js';
import type { Applied, AppliedLimit, Check, Refusal } from './applied-limit.js';
import type { Exceptions } from './exceptions.js';
import type { InvalidValues } from '../warnings.js';
import { PlanRules } from './plan-rules.js';
import { dynamicFields, PerRequestRule, sampleOf } from './per-request-rule.js';
import type { CountWhen, OnMissingSubject, RouteRuleFields } from '../rules/route-rule.js';
import { namedOn, type RuleFields } from '../rules/rule-layers.js';
import {
  fallbackSubject,
  hookedSubject,
  subjectOf,
  UNUSABLE,
  type FoundSubject,
  type SubjectOf,
} from './subject-of.js';

/**
 * Returns the hits with waiting enabled. They stop waiting when the client disconnects, and follow live changes.
 *
 * @param maxWaitMs milliseconds, from 1
 * @param current returns the hits that the request would have if it arrived now
 */
function waitingHits(
  hits: readonly RuleHit[],
  exchange: Exchange,
  maxWaitMs: number,
  current: () => Promise<readonly RuleHit[]>,
): readonly RuleHit[] {
  const signal = (): AbortSignal | undefined => exchange.gone();
  return hits.map((hit) => ({
    ...hit,
    ...(hit.lease !== undefined && { waits: true }),
    wait: { maxWaitMs, signal, current },
  }));
}

/** Assigns a rule its keys, see `RateLimiter.keyed`. */
export type KeyRule = (rule: CompiledRule, id?: string, counter?: string) => KeyedRule;

/** What a live change makes of a rule. */
export interface LiveChange {
  readonly fields: RuleFields;
  /** Name of the counters that the change has started; absent if there are none. */
  readonly counter: string | undefined;
  /** When the change ends, in milliseconds of `performance.now()`; `Infinity` if it does not. */
  readonly until: number;
  /** The rules of single subjects; absent if there are none. */
  readonly exceptions: Exceptions | undefined;
}

const OUTCOMES: Record<OnMissingSubject, string> = {
  ip: 'counts by its IP',
  skip: 'is allowed without this rule',
  deny: 'is denied',
};

const NO_HITS: readonly RuleHit[] = [];

/** A rule on a route, compiled once at start: turns a request into hits. */
export class RouteLimit implements AppliedLimit {
  readonly name: string;
  readonly names: readonly string[];
  readonly path: string;
  readonly sources: SubjectSources;
  /** Whether requests may be counted by the client's IP. */
  readonly needsAddress: boolean;
  /** Whether a request without the subject passes unlimited. */
  readonly skipsMissing: boolean;
  /** Whether the rule denies requests; a shadow rule does not. */
  readonly isEnforced: boolean;
  readonly isHeld: boolean;
  /** Whether the algorithm delays requests by itself, so that only calls of methods of providers wait for permits. */
  readonly delays: boolean;
  /** Whether requests wait for permits. */
  readonly waits: boolean;
  private readonly maxWaitMs: number;
  readonly count: CountWhen;
  readonly isNamed: boolean;
  readonly checks = new Set<Check>();
  /** Checks requests without the subject; absent if there is nothing to check. */
  checkMissing: ((request: HttpRequest) => void) | undefined;
  readonly fields: RuleFields & RouteRuleFields & { readonly name: string };
  /** Returns a rule with its keys, those of a live change's counters if it has any. */
  readonly keyed: (rule: CompiledRule, counter?: string) => KeyedRule;
  /** The rule if nothing in it depends on the request. */
  private readonly fixed: KeyedRule | undefined;
  private readonly perRequest: PerRequestRule | undefined;
  private readonly plans: PlanRules | undefined;
  private readonly subjectOf: SubjectOf;
  private readonly isAllowed: ((request: HttpRequest) => boolean) | undefined;
  /** The rule as the code declares it: this one, unless a live change has replaced it. */
  readonly declared: RouteLimit;
  /** This rule as live changes have it now, if it is the declared one. */
  newest: RouteLimit = this;
  /** The rules of single subjects; absent if there are none. */
  readonly exceptions: Exceptions | undefined;

  /**
   * @param owner the handler in messages, such as `OrdersController.list`
   * @param id the route that the counter belongs to, in keys
   * @throws RateLimitConfigError if the rule is invalid
   */
  constructor(
    fields: RuleFields,
    readonly owner: string,
    readonly id: string,
    private readonly key: KeyRule,
    private readonly invalid: InvalidValues,
    live?: { readonly declared: RouteLimit } & LiveChange,
  ) {
    this.declared = live?.declared ?? this;
    this.exceptions = live?.exceptions;
    if (live) {
      this.checks = live.declared.checks;
      this.checkMissing = live.declared.checkMissing;
    }
    this.fields = fields as RuleFields & { readonly name: string };
    this.name = fields['name'] as string;
    this.names = fields['trial'] === undefined ? [this.name] : [this.name, `${this.name}?`];
    this.path = `rule "${this.name}" of ${owner}`;
    const { by = 'ip', ipv6Prefix = 64, scope = 'route', count = 'all', allowList } = this.fields;
    const { onMissingSubject = 'ip', mode } = this.fields;
    this.keyed = (rule, counter = live?.counter) =>
      key(live ? endingAt(live.until, rule) : rule, scope === 'route' ? id : undefined, counter);
    this.sources = sourcesOf(by);
    this.isEnforced = mode !== 'shadow';
    this.isNamed = namedOn(fields) !== 'nowhere';
    this.skipsMissing = onMissingSubject === 'skip';
    this.needsAddress =
      this.sources.ip || allowList !== undefined || (by !== 'everyone' && onMissingSubject === 'ip');
    const sample = sampleOf(fields, this.path);
    this.isHeld = sample.algorithm.leases === true;
    this.maxWaitMs = sample.maxWaitMs ?? 0;
    this.delays = algorithmOf(this.fields['algorithm'] as string | undefined).delays === true;
    this.waits = this.maxWaitMs > 0;
    this.count = count;
    if (dynamicFields(fields).length === 0) this.fixed = this.keyed(sample);
    else this.perRequest = new PerRequestRule(this.fields, this.path, this.keyed, invalid);
    if (this.fields.plans || this.fields.plan)
      this.plans = new PlanRules(this.fields, this.path, this.keyed, invalid);
    this.subjectOf = subjectOf(by, ipv6Prefix, this.reportUnusable);
    this.isAllowed = allowList && allowListOf(allowList);
  }

  /**
   * Returns the rule with a live change.
   *
   * @throws RateLimitConfigError if the rule is invalid
   */
  changedBy(change: LiveChange): RouteLimit {
    const { declared, owner, id, key, invalid } = this;
    return new RouteLimit(change.fields, owner, id, key, invalid, { ...change, declared });
  }

  /** Returns what happens to a request without the subject, in words for a message. */
  get outcomeOfMissing(): string {
    return OUTCOMES[this.fields.onMissingSubject ?? 'ip'];
  }

  apply(exchange: Exchange): Applied | Promise<Applied> {
    const { fixed } = this;
    if (!fixed || this.plans || this.isAllowed || this.fields.skipIf || this.waits)
      return this.applyConditionally(exchange);
    const subject = this.subjectIn(exchange);
    if (typeof subject === 'string' && !this.exceptions) return fixed.hits(subject);
    if (subject instanceof Promise) return subject.then((found) => this.hits(found, fixed, exchange));
    return this.hits(subject, fixed, exchange);
  }

  private async applyConditionally(exchange: Exchange): Promise<Applied> {
    if (this.isAllowed?.(exchange.request) || (await this.isSkipped(exchange))) return NO_HITS;
    const rule = (await this.plans?.of(exchange)) ?? this.fixed ?? (await this.perRequest!.of(exchange));
    if (rule === 'skip') return NO_HITS;
    if (rule === 'unavailable') return { rule: this.name, reason: 'no-limit' };
    const applied = this.hits(await this.subjectIn(exchange), rule, exchange);
    const waits = this.waits && (this.isHeld || exchange.context.getType<string>() === 'provider');
    if (!waits || 'reason' in applied) return applied;
    return waitingHits(applied, exchange, this.maxWaitMs, async () => {
      const now = await this.declared.newest.apply(exchange);
      return 'reason' in now ? [] : now;
    });
  }

  private subjectIn(exchange: Exchange): FoundSubject | Promise<FoundSubject> {
    if (!exchange.subjectOf) return this.subjectOf(exchange.request, exchange);
    const report = (value: unknown): void => this.reportUnusable(value, 'subjectOf');
    return hookedSubject(exchange, this.name, this.subjectOf, report);
  }

  private async isSkipped(exchange: Exchange): Promise<boolean> {
    const { skipIf, name } = this.fields;
    const isSkipped: unknown = skipIf && (await exchange.valueOf(skipIf));
    if (isSkipped !== undefined && isSkipped !== null && typeof isSkipped !== 'boolean') {
      const reason = problem(`${this.path}.skipIf`, isSkipped, 'a function that returns true or false');
      this.invalid.report(name, 'skipIf', reason, 'The rule applies to such a request');
    }
    return isSkipped === true;
  }

  private readonly reportUnusable = (value: unknown, field = 'by'): void => {
    const allowed = 'a function that gives a string or a number, or nothing';
    const outcome = this.fields.onMissingSubject === 'deny' ? OUTCOMES.deny : OUTCOMES.ip;
    const reason = problem(`${this.path}.${field}`, value, allowed);
    this.invalid.report(this.name, field, reason, `Such a request ${outcome}`);
  };

  private hits(subject: FoundSubject, rule: KeyedRule, { request }: Exchange): Applied {
    if (subject !== undefined && subject !== UNUSABLE) {
      const excepted = this.exceptions?.of(subject) ?? rule;
      return excepted === 'allow' ? NO_HITS : excepted.hits(subject);
    }
    this.checkMissing?.(request);
    const { onMissingSubject = 'ip', ipv6Prefix = 64 } = this.fields;
    if (onMissingSubject === 'deny') return this.refusal('no-subject');
    // A client that sends an invalid subject must not have an advantage over one that sends none.
    if (subject === undefined && onMissingSubject === 'skip') return NO_HITS;
    const found = fallbackSubject(request, ipv6Prefix);
    if (found === undefined) return this.refusal(request.socket?.destroyed ? 'hung-up' : 'no-address');
    return rule.hits(found);
  }

  /** A rule in shadow mode denies no request. */
  private refusal(reason: Refusal['reason']): Applied {
    return this.isEnforced ? { rule: this.name, reason } : NO_HITS;
  }
}

/** Returns a rule that applies until an instant, unless it has an end already. */
export function endingAt(until: number, rule: CompiledRule): CompiledRule {
  return until === Infinity || rule.until !== undefined ? rule : { ...rule, until };
}
