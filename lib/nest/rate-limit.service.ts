import { Inject, Injectable } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { Subject } from '../core/key.js';
import { RateLimiter, type HitOptions } from '../core/limiter.js';
import type { Rule } from '../core/rule.js';
import { coreRule } from './route-limit.js';
import { RouteRules } from './route-rules.js';

/** Limits what is not a route: jobs, messages, the items of a batch. */
@Injectable()
export class RateLimitService {
  private readonly named = new Map<string, Rule>();

  constructor(
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(RouteRules) private readonly rules: RouteRules,
  ) {}

  /**
   * Takes permits from every rule given, or from none if one of them denies.
   *
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  consume(rules: Rule | readonly Rule[], subject: Subject, options?: HitOptions): Promise<Decision> {
    return this.limiter.consume(rules, subject, options);
  }

  /** Tells what `consume` would answer now, and charges nothing. */
  peek(rules: Rule | readonly Rule[], subject: Subject, options?: HitOptions): Promise<Decision> {
    return this.limiter.peek(rules, subject, options);
  }

  /** Forgets what the subject has used of the rules: its next hit finds them fresh. */
  reset(rules: Rule | readonly Rule[], subject: Subject): Promise<void> {
    return this.limiter.reset(rules, subject);
  }

  /**
   * Takes permits from a rule of the module's `rules`, overrides included. It counts together with the
   * routes on which that rule has `scope: 'shared'`.
   *
   * @throws RateLimitConfigError if there is no rule of that name, or it depends on the request
   */
  async check(name: string, subject: Subject, options?: HitOptions): Promise<Decision> {
    return this.limiter.consume(this.rule(name), subject, options);
  }

  /**
   * The rule of a name in the module's `rules`, overrides included, for `peek` and `reset`.
   *
   * @throws RateLimitConfigError if there is no rule of that name, or it depends on the request
   */
  rule(name: string): Rule {
    const known = this.named.get(name);
    if (known) return known;
    const rule = coreRule(name, this.rules.named(name));
    this.named.set(name, rule);
    return rule;
  }
}
