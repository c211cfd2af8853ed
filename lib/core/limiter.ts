import { toMicroseconds } from '../contracts/clock.js';
import type { Decision } from '../contracts/decision.js';
import { DURATION_ALLOWED, durationFix, parseDuration, type Duration } from '../contracts/duration.js';
import { DecidedHit } from './decision.js';
import { HitLimiter } from './hit-limiter.js';
import type { SubjectValue } from './key.js';
import type { AcquireOptions, HitOptions } from './limiter-options.js';
import { checkOperation, type Operation } from './operation.js';
import type { Permit } from './permit.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import { RateLimitStoreError } from './rate-limit-store.error.js';
import { Reservation } from './reservation.js';
import { RuleCache } from './rule-cache.js';
import type { RuleHit } from './rule-hit.js';
import type { CompiledRule } from './compiled-rule.js';
import type { KeyedRule } from './keyed-rule.js';
import type { BlockingRule, LeaseRule, QueueRule, Rule, AnyRule } from './rule.js';

/** One rule, or several that are decided together. */
export type Rules<Each> = Each | readonly Each[];

/** A year, which no place in a queue is away. */
const ENDLESS_MS = 366 * 86_400e3;

/** What the store is tried with: its counter is gone within the second. */
const TRIAL: Rule = { name: 'ready', algorithm: 'gcra', limit: 1000, window: '1s' };

/** The operations of `RateLimiter`, without a store to fall back to. */
export class Limiter extends HitLimiter {
  private readonly rules = new RuleCache((compiled, rule) => this.placed(compiled, rule));

  /**
   * Takes permits from every rule given, or from none if one of them denies.
   *
   * @param rules a rule or several of different names; each object is checked once and remembered
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  consume(rules: Rules<Rule>, subject: SubjectValue, options?: HitOptions): Promise<Decision> {
    try {
      const decision = this.decide(this.hits('consume', rules, subject, options?.cost));
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Tells what `consume` or `enter` would answer now, and changes nothing. */
  async peek(rules: Rules<AnyRule>, subject: SubjectValue, options: HitOptions = {}): Promise<Decision> {
    return this.decide(this.hits('peek', rules, subject, options.cost), { dryRun: true });
  }

  /**
   * Takes permits for work whose cost is known only afterwards: `settle` it with the actual cost, or
   * `cancel` it. What is never settled stays charged as reserved, until it is gone by itself.
   *
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  async reserve(rules: Rules<Rule>, subject: SubjectValue, options: HitOptions = {}): Promise<Reservation> {
    const decision = await this.consume(rules, subject, options);
    return new Reservation(decision, async (actual) => {
      const charged = DecidedHit.chargeOf(decision)?.take('refund', () => true) ?? [];
      await this.ledger.settle(charged, actual);
    });
  }

  /**
   * Takes permits as soon as they are there: reserves a place once and waits for it, first come first
   * served across processes. Answers a denial at once if the wait would exceed the timeout.
   *
   * @throws the signal's reason if it aborts; the place is given back if nobody stands behind it
   */
  async acquire(rule: QueueRule, subject: SubjectValue, options: AcquireOptions = {}): Promise<Decision> {
    const { timeoutMs = ENDLESS_MS, signal } = options;
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) {
      throw new RateLimitConfigError([problem('timeoutMs', timeoutMs, 'a number from 0, in milliseconds')]);
    }
    signal?.throwIfAborted();
    const patience = Math.max(1, toMicroseconds(Math.min(timeoutMs, ENDLESS_MS)));
    const decision = await this.decide(this.hits('acquire', rule, subject, options.cost), { patience });
    if (decision.delayMs > 0) await this.holdBack(decision, signal);
    return decision;
  }

  /**
   * Takes permits that are held until they are released: at most the limit at any time. Look at
   * `permit.allowed` before going on.
   *
   * @throws RateLimitConfigError if the rule or the cost is wrong
   */
  async enter(rule: LeaseRule, subject: SubjectValue, options: HitOptions = {}): Promise<Permit> {
    return this.permit(await this.decide(this.hits('enter', rule, subject, options.cost)));
  }

  /**
   * Blocks the subject from now for as long as said, whatever the rule would say meanwhile.
   *
   * @throws RateLimitConfigError if the rule or the duration is wrong
   * @throws RateLimitStoreError if the store did not confirm it: this process alone blocks the subject, while
   * its fallback decides
   */
  async block(rule: BlockingRule, subject: SubjectValue, duration: Duration): Promise<void> {
    const microseconds = parseDuration(duration);
    if (microseconds === undefined) {
      throw new RateLimitConfigError([
        problem('duration', duration, DURATION_ALLOWED, durationFix(duration)),
      ]);
    }
    const counters = this.hits('block', rule, subject).filter(
      (hit) => hit.block && hit.rule.candidateOf === undefined,
    );
    if (counters.length === 0)
      throw new RateLimitConfigError([problem('block', undefined, 'a duration, or "manual"')]);
    await Promise.all([
      confirmed('block', () => Promise.all(counters.map((each) => this.store.block(each, microseconds)))),
      ...(this.store.heartbeat ? counters.map((each) => this.local.block(each, microseconds)) : []),
    ]);
  }

  /**
   * Forgets what the subject has used of the rules, and its blocks: its next hit finds them fresh.
   *
   * @returns whether there was anything to forget
   * @throws RateLimitStoreError if the store did not confirm it: this process alone has forgotten what its
   * fallback counted
   */
  async reset(rules: Rules<AnyRule>, subject: SubjectValue): Promise<boolean> {
    const counters = this.hits('reset', rules, subject);
    const [hadState] = await Promise.all([
      confirmed('reset', () => this.store.reset(counters)),
      this.local.reset(counters),
    ]);
    for (const { key } of counters) this.allotments?.drop(key);
    return hadState.includes(true);
  }

  /**
   * Waits until the store has decided once on each of its servers, or it is known why it cannot. The events
   * and `RateLimitHealth` report that.
   */
  async ready(): Promise<void> {
    await this.store.ready?.((subject) => this.rules.hits(TRIAL, subject)[0]!);
  }

  /** @throws RateLimitConfigError if a rule or the cost is wrong, or the rule is not one for the operation */
  private hits(
    operation: Operation,
    rules: Rules<AnyRule>,
    subject: SubjectValue,
    cost?: number,
  ): readonly RuleHit[] {
    const hits = this.hitsOf(operation, rules, subject, cost);
    checkOperation(operation, hits);
    return hits;
  }

  /** Called once for each rule that a program gives as an object. */
  protected placed(compiled: CompiledRule, _rule: AnyRule): KeyedRule {
    return this.keyed(compiled);
  }

  /** The hits of a subject on the rules that a program gives. */
  protected hitsOf(
    _operation: Operation,
    rules: Rules<AnyRule>,
    subject: SubjectValue,
    cost: number | undefined,
  ): readonly RuleHit[] {
    return this.rules.hits(rules, subject, cost);
  }
}

/** @throws RateLimitStoreError if the store has not done what it was asked for */
async function confirmed<Result>(operation: 'block' | 'reset', run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw new RateLimitStoreError(operation, error);
  }
}
