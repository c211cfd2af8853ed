import type { Decision } from '../contracts/decision.js';
import type { Subject } from '../core/key.js';
import { RateLimiter } from '../core/limiter.js';
import type { HitOptions, RateLimiterOptions } from '../core/limiter-options.js';
import { RateLimitConfigError } from '../core/rate-limit-config.error.js';
import type { AnyRule } from '../core/rule.js';
import { coreRule } from './route-limit.js';
import type { RuleBook } from './rule-book.js';

/**
 * Limits what is not a route: jobs, messages, the items of a batch, calls to others. It is the
 * `RateLimiter` that the guard decides by, and knows the module's rules by name.
 */
export class RateLimitService extends RateLimiter {
  private readonly named = new Map<string, AnyRule>();

  constructor(
    options: RateLimiterOptions,
    private readonly book: RuleBook,
  ) {
    super(options);
  }

  /**
   * Takes permits from a rule of the module's `rules`, overrides included. It counts together with the
   * routes on which that rule has `scope: 'shared'`.
   *
   * @throws RateLimitConfigError if there is no rule of that name, it depends on the request, or it is
   * one to `enter`
   */
  async check(name: string, subject: Subject, options?: HitOptions): Promise<Decision> {
    const rule = this.rule(name);
    if (rule.algorithm === 'concurrency') {
      throw new RateLimitConfigError([`rule "${name}": its permits are held; use enter(rule("${name}"), …)`]);
    }
    return this.consume(rule, subject, options);
  }

  /**
   * The rule of a name in the module's `rules`, overrides included, for the other operations.
   *
   * @throws RateLimitConfigError if there is no rule of that name, or it depends on the request
   */
  rule(name: string): AnyRule {
    const known = this.named.get(name);
    if (known) return known;
    const rule = coreRule(name, this.book.namedRule(name));
    this.named.set(name, rule);
    return rule;
  }
}
